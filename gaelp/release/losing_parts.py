"""Which campaigns and ad groups of the agent's days lost most against what the control's days return."""

from collections.abc import Sequence

import numpy as np

from gaelp.arrays import Bools, Floats, Ints
from gaelp.config.base import Frozen
from gaelp.money import Micros

__all__ = ["LosingPart", "losing_parts"]


class LosingPart(Frozen):
    """An ad group under the agent, beside what the control's rate of return makes of the same spend."""

    campaign: str
    target: str
    spend_micros: Micros
    value_micros: Micros  # known so far
    control_value_micros: Micros  # of the same spend, at the control's value for each dollar
    clicks: int

    @property
    def lost_micros(self) -> Micros:
        """How much less it brought."""
        return self.control_value_micros - self.value_micros


def losing_parts(
    value_micros: Ints,
    cost_micros: Ints,
    clicks: Ints,
    treated: Bools,
    targets: Sequence[tuple[str, Sequence[str]]],
    *,
    most: int = 5,
) -> tuple[LosingPart, ...]:
    """The worst ad groups, worst first. Figures are (H, N, S), `treated` (H, N), `targets` by campaign its ad groups.

    Where the control spent nothing, the rate of its whole campaign counts, and after that of all its campaigns.
    """
    own = treated[:, :, None]
    value, spend, counted = (np.where(own, figures, 0).sum(axis=0) for figures in (value_micros, cost_micros, clicks))
    expected = np.rint(spend * _control_rate(value_micros, cost_micros, own))
    lost = expected - value
    order = np.argsort(-lost, axis=None, kind="stable")[:most]
    parts = []
    for row, column in zip(*np.unravel_index(order, lost.shape), strict=True):
        if lost[row, column] <= 0:
            break
        name, groups = targets[row]
        parts.append(
            LosingPart(
                campaign=name,
                target=groups[column],
                spend_micros=int(spend[row, column]),
                value_micros=int(value[row, column]),
                control_value_micros=int(expected[row, column]),
                clicks=int(counted[row, column]),
            )
        )
    return tuple(parts)


def _control_rate(value_micros: Ints, cost_micros: Ints, own: Bools) -> Floats:
    """Value for each dollar of the control, (N, S)."""
    value, spend = (np.where(own, 0, figures).sum(axis=0).astype(np.float64) for figures in (value_micros, cost_micros))
    rate = np.full(value.shape, _ratio(value.sum(keepdims=True), spend.sum(keepdims=True), np.zeros((1, 1))))
    rate = _ratio(value.sum(axis=1, keepdims=True), spend.sum(axis=1, keepdims=True), rate)
    return _ratio(value, spend, rate)


def _ratio(value: Floats, spend: Floats, otherwise: Floats) -> Floats:
    return np.asarray(np.where(spend > 0, value / np.maximum(spend, 1.0), otherwise))
