"""Whether an exported policy bids as the model itself does, on the same observations."""

import math

import numpy as np

from gaelp.arrays import Bools, Ints
from gaelp.errors import Refused
from gaelp.export.export_manifest import ExportFormat, Parity
from gaelp.market.baselines.bids import Bidder
from gaelp.market.market import Market, seeds_from
from gaelp.market.view import Action

__all__ = ["DECISIONS", "measure_parity"]

DECISIONS = 10_000
_RELATIVE, _MICROS = 1e-5, 1


def measure_parity(
    original: Bidder,
    exported: Bidder,
    market: Market,
    *,
    as_format: ExportFormat,
    decisions: int = DECISIONS,
    seed: int,
) -> Parity:
    """Play at least so many decisions of the original, and ask the export for each; Refused if their bids differ.

    Both keep their own memory, so a difference of one hour would show in the hours after it.
    """
    obs = market.reset(seeds_from(seed, math.ceil(decisions / market.hours)))
    for policy in (original, exported):
        policy.begin(market.brief)
    apart, bids = [], []
    while not market.done:
        action, other = original.act(obs), exported.act(obs)
        _check_rest(action, other, as_format)
        apart.append(np.abs(action.bid_micros - other.bid_micros))
        bids.append(action.bid_micros)
        obs, _ = market.step(action)
    return _judged(np.stack(apart), np.stack(bids), as_format)


def _judged(apart: Ints, bids: Ints, as_format: ExportFormat) -> Parity:
    relative = apart / np.maximum(bids, 1)
    outside = _outside(apart, bids)
    parity = Parity(
        format=as_format,
        decisions=apart.shape[0] * apart.shape[1],
        bids=apart.size,
        different_bids=int(np.count_nonzero(apart)),
        largest_difference_micros=int(apart.max()),
        largest_relative_difference=float(relative.max()),
        outside=int(outside.sum()),
    )
    if parity.outside:
        raise Refused(
            f"{as_format}: {parity.outside:,} of {parity.bids:,} bids differ from the model's by more than"
            f" {_RELATIVE:g} of the bid and {_MICROS} micro, the largest by {parity.largest_difference_micros:,}"
            " micros: nothing was written. Export with the packages that the version names (`gaelp models show`)"
        )
    return parity


def _outside(apart: Ints, bids: Ints) -> Bools:
    return np.asarray(apart > np.maximum(_RELATIVE * bids, _MICROS))


def _check_rest(action: Action, other: Action, as_format: ExportFormat) -> None:
    for name in ("pace", "creative"):
        ours, theirs = getattr(action, name), getattr(other, name)
        if (ours is None) != (theirs is None) or (ours is not None and not np.array_equal(ours, theirs)):
            raise Refused(
                f"{as_format}: the {name} differs from the model's: nothing was written. Report this as a bug"
            )
