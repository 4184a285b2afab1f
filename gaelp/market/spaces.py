"""What a learner sees and does, index by index: the observation vector and the two action spaces.

Observation: GLOBAL_FEATURES once, then each of SEGMENT_FEATURES for all segments in turn; all clipped to -10..10. Both
tuples below are its documentation: entry i is index i (global), or len(GLOBAL_FEATURES) + i * segments + s (segment s).
With another objective than value, OBJECTIVE_FEATURES follow the global ones.

Continuous action, Box, every entry in -1..1: first the bid of each segment group (log multiplier = 3 x entry; 0 bids
the campaign's forecast price level, 1 twenty times it), then the pacing rate (-1 stays out, 1 enters every auction),
then, with more than one creative on offer, the creative of each group (the range cut into equal parts, one a creative).
Discrete action: one index over bid multiplier x pacing rate x creative, the same for all segments (`DiscreteGrid`).
"""

from dataclasses import dataclass

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from gaelp.arrays import Floats32, Ints
from gaelp.config.objective import VALUE, Objective, is_value
from gaelp.errors import ActionError, ConfigError
from gaelp.market.view import Action, Brief

__all__ = [
    "FEATURE_LIMIT",
    "GLOBAL_FEATURES",
    "OBJECTIVE_FEATURES",
    "SEGMENT_FEATURES",
    "ContinuousActions",
    "DiscreteGrid",
    "bids_from_multipliers",
    "global_size",
    "observation_size",
    "observation_space",
]

FEATURE_LIMIT = 10.0
MULTIPLIER_LIMIT = 3.0  # log: from a twentieth to twenty times the forecast price level

GLOBAL_FEATURES: tuple[tuple[str, str], ...] = (
    ("time_elapsed", "share of the flight that has passed"),
    ("hour_sin", "hour of day on a circle"),
    ("hour_cos", "hour of day on a circle"),
    ("half_day_sin", "hour of day on a circle, twice a day"),
    ("half_day_cos", "hour of day on a circle, twice a day"),
    ("week_sin", "hour of week on a circle"),
    ("week_cos", "hour of week on a circle"),
    ("budget_left", "share of the budget"),
    ("day_left", "share of today's cap"),
    ("ahead_of_plan", "log of budget share left over volume share still to come"),
    ("budget_share", "log of budget over the forecast cost of everything, plus 2"),
    ("spend_last_hour", "spend of the last hour over its share of the plan, minus 1"),
    ("in_market", "share of the last hour before the money ran out"),
    ("pace", "pacing rate of the last hour"),
    ("volume_now", "log of forecast volume of the coming hour over an average hour"),
    ("volume_recent", "log of opportunities of the last hour over their forecast"),
    ("price_now", "mean log price level over the forecast"),
    ("clicks", "0.3 log(1 + clicks since launch)"),
    ("conversions", "0.5 log(1 + conversions reported since launch)"),
    ("maturing", "0.3 log(1 + clicks whose conversion may still come)"),
    (
        "rhythm_now",
        "cosine of the time from each persona's most engaged hour, mean over the campaign's volume this hour",
    ),
    ("rhythm_ahead", "the same over all that is still to come"),
    ("return_on_spend", "log of value of reported conversions over spend, both with a small prior"),
)

OBJECTIVE_FEATURES: tuple[tuple[str, str], ...] = (
    ("slack", "log of the return so far over the target (1 for profit), conversions still to come included"),
    ("room", "log of the return expected at launch, at forecast prices, over the target"),
)

SEGMENT_FEATURES: tuple[tuple[str, str], ...] = (
    ("click_rate", "log of the shrunken click rate over the market's average"),
    ("conversion_rate", "log of the shrunken conversion rate over the market's average, corrected for open clicks"),
    ("value", "log of the estimated (or known) value of an impression over the advertiser's prior"),
    ("uncertainty", "standard deviation of that log value; 0 where values are known"),
    ("price_level", "log of the running price level over the campaign's mean forecast"),
    ("price_surprise", "log of the running price level over this segment's forecast"),
    ("price_signal", "log of the last hour's price signal over the running level"),
    ("last_bid", "log of the last bid over the running price level"),
    ("win_rate", "impressions over opportunities entered in the last hour"),
    ("volume_share", "log of forecast volume over the campaign's mean segment"),
    ("volume_surprise", "log of opportunities of the last hour over their forecast"),
    ("activity_now", "log of the persona's activity in the coming hour over its mean"),
    ("impressions", "0.2 log(1 + impressions since launch)"),
    ("clicks", "0.3 log(1 + clicks since launch)"),
    ("conversions", "0.5 log(1 + conversions reported since launch)"),
    ("maturing", "0.3 log(1 + clicks whose conversion may still come)"),
    ("exposure", "recent impressions per person in the audience"),
    ("creative", "last creative over the number on offer"),
    ("rhythm_now", "cosine of the time from the persona's most engaged hour: 1 then, -1 half a day away"),
    ("rhythm_past", "sine of the same: above 0 after that hour, below 0 before it"),
    ("income", "log of the persona's income over the average"),
    ("age", "the persona's age, centred and scaled"),
    ("mobile", "1 for a persona on a phone"),
)


def global_size(objective: Objective) -> int:
    """How many features a campaign has as a whole."""
    return len(GLOBAL_FEATURES) + (0 if is_value(objective) else len(OBJECTIVE_FEATURES))


def observation_size(segments: int, objective: Objective = VALUE) -> int:
    """Length of the observation vector."""
    return global_size(objective) + segments * len(SEGMENT_FEATURES)


def observation_space(segments: int, objective: Objective = VALUE) -> gym.spaces.Box:
    """The space of one campaign's observation vector."""
    return gym.spaces.Box(-FEATURE_LIMIT, FEATURE_LIMIT, (observation_size(segments, objective),), np.float32)


@dataclass(frozen=True, slots=True)
class ContinuousActions:
    """Log bid multipliers by segment group, pacing rate, and a creative coordinate by group where there is a choice."""

    segments: int
    creatives: int = 1
    groups: int = 0  # 0: every segment is its own group

    def __post_init__(self) -> None:
        if not 0 <= self.groups <= self.segments:
            raise ConfigError(f"groups={self.groups} must lie in 0..{self.segments} (0: one per segment)")

    @property
    def group_count(self) -> int:
        """How many multipliers an action holds."""
        return self.groups or self.segments

    @property
    def space(self) -> gym.spaces.Box:
        """Bounds of one campaign's action."""
        size = self.group_count * (2 if self.creatives > 1 else 1) + 1
        return gym.spaces.Box(-1.0, 1.0, (size,), np.float32)

    def decode(self, actions: npt.ArrayLike, brief: Brief) -> tuple[Action, int]:
        """Bids, pace and creatives of N actions, and how many entries were pulled back into bounds."""
        raw = np.asarray(actions, dtype=np.float32)
        _check_actions(raw, (brief.campaigns, *self.space.shape))
        inside = np.clip(raw, -1.0, 1.0)
        groups = self.group_count
        group_of = np.arange(self.segments) * groups // self.segments
        bids = bids_from_multipliers(MULTIPLIER_LIMIT * inside[:, group_of], brief)
        creative = None
        if self.creatives > 1:
            part = 0.5 * (inside[:, groups + 1 + group_of] + 1.0) * self.creatives
            creative = np.minimum(part, self.creatives - 1).astype(np.int8)
        action = Action(bids, pace=0.5 * (inside[:, groups] + 1.0), creative=creative)
        return action, int(np.count_nonzero(inside != raw))


@dataclass(frozen=True, slots=True)
class DiscreteGrid:
    """One index over multiplier x pace x creative; index = (multiplier * paces + pace) * creatives + creative."""

    multipliers_log: tuple[float, ...] = tuple(round(-1.5 + 0.3 * i, 1) for i in range(11))
    paces: tuple[float, ...] = (0.5, 1.0)
    creatives: int = 1

    @property
    def space(self) -> gym.spaces.Discrete:
        """All indices of one campaign."""
        return gym.spaces.Discrete(len(self.multipliers_log) * len(self.paces) * self.creatives)

    def decode(self, actions: npt.ArrayLike, brief: Brief) -> tuple[Action, int]:
        """Bids, pace and creatives of N indices; an index outside the grid is refused, so nothing is ever clipped."""
        index = np.asarray(actions)
        _check_indices(index, brief.campaigns, int(self.space.n))
        rest, creative = np.divmod(index, self.creatives)
        multiplier, pace = np.divmod(rest, len(self.paces))
        chosen = np.array(self.multipliers_log, np.float32)[multiplier][:, None]
        shape = (brief.campaigns, brief.segments)
        action = Action(
            bids_from_multipliers(np.broadcast_to(chosen, shape), brief),
            pace=np.array(self.paces, np.float32)[pace],
            creative=np.broadcast_to(creative.astype(np.int8)[:, None], shape),
        )
        return action, 0


def bids_from_multipliers(multiplier_log: Floats32, brief: Brief) -> Ints:
    """Whole micros: the campaign's mean forecast price level times the multiplier, shape (N, S)."""
    reference_log = brief.price_forecast_log.mean(axis=1, keepdims=True)
    return np.asarray(np.rint(np.exp(reference_log + multiplier_log)).astype(np.int64))


def _check_actions(raw: Floats32, shape: tuple[int, ...]) -> None:
    if raw.shape != shape:
        raise ActionError(f"actions have shape {raw.shape}, expected {shape}")
    finite = np.isfinite(raw)
    if not finite.all():
        index = tuple(int(i) for i in np.argwhere(~finite)[0])
        raise ActionError(f"action{list(index)} is {raw[index]}: every entry must be finite; nothing was bid")


def _check_indices(index: Ints, campaigns: int, count: int) -> None:
    if index.shape != (campaigns,) or not np.issubdtype(index.dtype, np.integer):
        raise ActionError(f"actions are {index.dtype} of shape {index.shape}, expected {campaigns} whole numbers")
    wrong = np.flatnonzero((index < 0) | (index >= count))
    if len(wrong):
        raise ActionError(f"action[{wrong[0]}] is {index[wrong[0]]}: choose 0..{count - 1}; nothing was bid")
