"""What GAELP demands of every policy that bids, as a check that anyone can run on a policy of their own.

`check_policy(build, markets)` raises an AssertionError that says what is wrong. Campaigns are played once in whole
batches and recorded; then they are resumed from their states at random hours, in random company, and must get the
recorded actions to the bit. That holds on one machine with the same packages: another processor may round differently.
"""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Ints
from gaelp.market.baselines.bids import Bidder
from gaelp.market.campaign_rows import join, join_states, take, take_state
from gaelp.market.market import Market, seeds_from
from gaelp.market.view import Action, Brief, Observation
from gaelp.types import PolicyState, SegmentBelief

__all__ = ["RESTORES", "check_policy", "state_from_bytes", "state_to_bytes"]

RESTORES = 200
_MOST_AT_ONCE = 12  # campaigns that run at the same time
_GROUPS = (1, 2, 3, _MOST_AT_ONCE)  # calls that share the campaigns of an hour, the last with one campaign a call
_ENDS_EARLY = 0.1  # chance that a campaign is dropped after an hour


def check_policy(
    build: Callable[[], Bidder],
    markets: Sequence[Market],
    *,
    campaigns: int = 5,
    restores: int = RESTORES,
    seed: int = 0,
) -> None:
    """Split, join, save and restore running campaigns at random; the markets may differ in the length of flights."""
    rng = np.random.default_rng(seed)
    recording = _joined([_record(build(), market, campaigns, seed) for market in markets])
    policies = [build(), build()]  # a policy that resumes must forget what it ran before
    running, state = _start(recording, rng, _MOST_AT_ONCE)
    done = 0
    while done < restores:
        order, kept = rng.permutation(len(running)), []
        for group in np.array_split(order, rng.choice(_GROUPS)):
            policy = policies[done % 2]
            kept.append(_resume(policy, recording, running[group], take_state(state, group)))
            done += 1
        running, state = running[order] + 1, join_states(kept)
        stays = np.flatnonzero((running < recording.ends(running - 1)) & (rng.random(len(running)) > _ENDS_EARLY))
        begun, begun_state = _start(recording, rng, _MOST_AT_ONCE - len(stays))
        running = np.concatenate([running[stays], begun])
        state = join_states([take_state(state, stays), begun_state])
    _check_belief(build(), recording)


def state_to_bytes(state: PolicyState) -> bytes:
    """A state as the bytes of an .npz file."""
    file = io.BytesIO()
    np.savez(file, **dict(state))  # type: ignore[arg-type]  # numpy types every name as its own option
    return file.getvalue()


def state_from_bytes(data: bytes) -> PolicyState:
    """The state that `state_to_bytes` wrote."""
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


@dataclass(frozen=True, slots=True)
class _Recording:
    """Campaigns played to the end; one row for each hour of each campaign, a campaign's hours one after another."""

    brief: Brief  # one row a campaign
    campaign: Ints  # (rows,) row of the brief
    obs: Observation
    action: Action
    state: PolicyState  # before the action

    def ends(self, rows: Ints) -> Ints:
        """The row after the last hour of each row's campaign."""
        return np.searchsorted(self.campaign, self.campaign[rows], side="right")


def _record(policy: Bidder, market: Market, campaigns: int, seed: int) -> _Recording:
    obs = market.reset(seeds_from(seed, campaigns))
    policy.begin(market.brief)
    everyone = np.arange(campaigns)
    observations, actions, states, copies = [], [], [], []
    while not market.done:
        states.append(policy.state())
        copies.append(_copied(states[-1], campaigns))
        observations.append(take(obs, everyone))
        action = policy.act(obs)
        actions.append(take(action, everyone))
        obs, _ = market.step(action)
    for hour, (state, copy) in enumerate(zip(states, copies, strict=True)):
        _expect(_same(state, copy), f"{policy.name}: the state of hour {hour} was changed by later decisions")
    by_campaign = np.arange(campaigns * market.hours).reshape(market.hours, campaigns).T.ravel()
    return _Recording(
        brief=take(market.brief, everyone),
        campaign=np.repeat(everyone, market.hours),
        obs=take(join(observations), by_campaign),
        action=take(join(actions), by_campaign),
        state=take_state(join_states(copies), by_campaign),
    )


def _joined(recordings: Sequence[_Recording]) -> _Recording:
    first_campaigns = np.cumsum([0, *(recording.brief.campaigns for recording in recordings)])
    return _Recording(
        brief=join([recording.brief for recording in recordings]),
        campaign=np.concatenate([r.campaign + n for r, n in zip(recordings, first_campaigns, strict=False)]),
        obs=join([recording.obs for recording in recordings]),
        action=join([recording.action for recording in recordings]),
        state=join_states([recording.state for recording in recordings]),
    )


def _start(recording: _Recording, rng: np.random.Generator, count: int) -> tuple[Ints, PolicyState]:
    """Rows of campaigns at random hours, and the states they had there."""
    rows = rng.integers(len(recording.campaign), size=count)
    return rows, take_state(recording.state, rows)


def _resume(policy: Bidder, recording: _Recording, rows: Ints, state: PolicyState) -> PolicyState:
    """Restore campaigns, let them act for one hour and return what they keep."""
    policy.load_state(take(recording.brief, recording.campaign[rows]), state_from_bytes(state_to_bytes(state)))
    actual, wanted = policy.act(take(recording.obs, rows)), take(recording.action, rows)
    for name in ("bid_micros", "pace", "creative"):
        ours, theirs = getattr(actual, name), getattr(wanted, name)
        if (ours is None) != (theirs is None) or (ours is not None and not np.array_equal(ours, theirs)):
            hours = recording.obs.hour[rows]
            raise AssertionError(
                f"{policy.name}: {name} of {len(rows)} resumed campaigns in hours {hours.tolist()} is\n{ours}\nand was"
                f" recorded as\n{theirs}\nThe state must hold all that is remembered, and campaigns must not share it"
            )
    return _copied(policy.state(), len(rows))


def _copied(state: PolicyState, campaigns: int) -> PolicyState:
    for name, array in state.items():
        _expect(array.shape[:1] == (campaigns,), f"state {name} has shape {array.shape}, not one row a campaign")
    return take_state(state, np.arange(campaigns))


def _check_belief(policy: Bidder, recording: _Recording) -> None:
    brief = recording.brief
    spread = np.ones((brief.campaigns, brief.segments))
    policy.begin(brief, SegmentBelief(value_log=np.log(1000.0) * spread, value_log_sd=spread))
    first = np.searchsorted(recording.campaign, np.arange(brief.campaigns))
    bids = policy.act(take(recording.obs, first)).bid_micros
    _expect(bids.shape == spread.shape, f"{policy.name}: bids of shape {bids.shape} with a belief, not {spread.shape}")


def _same(left: PolicyState, right: PolicyState) -> bool:
    return all(np.array_equal(left[name], right[name], equal_nan=True) for name in left)


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)
