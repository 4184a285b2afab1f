"""How often the monitor of a release rolls back or promotes, and after how many pairs, beside two rules that peek.

Campaign-days are drawn by `release_worlds`, assigned and paired by the code of a release, and judged by the test that
the gate configures. Every release is looked at after each pair. Each rule is watched on its own, as if it alone could
end the release.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gaelp.arrays import Bools, Floats, Ints
from gaelp.bench.observation_limit import LIMIT_FACTOR, observation_limit
from gaelp.bench.release_worlds import DAY_SPEND_MICROS, Days, ReleaseWorld, assigned_days
from gaelp.gates.lift_test import LiftPlan, shown_at_looks
from gaelp.release.assignment import BLOCK_DAYS
from gaelp.release.pairs import PairRules, ReleaseDays, cut_pairs

__all__ = ["EFFECTS", "RULES", "TrialSize", "first_looks", "full_pairs", "keeps", "release_trials", "share_found"]

EFFECTS = (0.0, -0.3, 0.15, 0.3, 0.5)
_BATCH = 50  # releases at once: 50 x 4,000 pairs are 1.6 MB for each array
_EARLIER = (14, 20)  # days and campaigns of a pilot, and of the history beside it
_RAW_WORSE, _STRONG, _FAIR = -0.05, 0.15, 0.05
_Z = 1.6448536  # one side, 5%: what the bets are given too
_RULES = PairRules(unit_micros=DAY_SPEND_MICROS // 2, age_days_min=0)

Watch = Callable[[Floats, Floats, LiftPlan], Bools]  # (R, P) twice -> at which looks it answers yes, (R, P)


class TrialSize:
    """How much is simulated; pairs of a release are campaigns x days / 2."""

    def __init__(self, releases: int = 1000, campaigns: int = 100, days: int = 80, seed: int = 1900) -> None:
        """`days` is rounded down to whole blocks."""
        self.releases, self.campaigns, self.seed = releases, campaigns, seed
        self.days = days // BLOCK_DAYS * BLOCK_DAYS


def _bet(finds: str, lift: float) -> Watch:
    if finds == "worse":
        return lambda treatment, control, plan: shown_at_looks(treatment, control, plan, lift=lift, finds="worse")
    return lambda treatment, control, plan: shown_at_looks(treatment, control, plan, lift=lift, finds="better")


def _lift(treatment: Floats, control: Floats) -> Floats:
    """The point estimate at each look, (R, P)."""
    return np.asarray(np.cumsum(treatment, axis=1) / np.maximum(np.cumsum(control, axis=1), 1e-12) - 1)


def _raw(treatment: Floats, control: Floats, plan: LiftPlan, *, above: float | None = None) -> Bools:
    """A plain threshold on the point estimate."""
    lift = _lift(treatment, control)
    return _late_enough(lift >= above if above is not None else lift < _RAW_WORSE, plan)


def _peeked_z(treatment: Floats, control: Floats, plan: LiftPlan, *, sign: int) -> Bools:
    """A paired z-test at each look, as if it were the only one."""
    x = sign * (treatment - control)
    n = np.arange(1, x.shape[1] + 1)
    mean = np.cumsum(x, axis=1) / n
    variance = np.maximum(np.cumsum(x**2, axis=1) / n - mean**2, 1e-12)
    return _late_enough(mean > _Z * np.sqrt(variance / n), plan)


def _production(treatment: Floats, control: Floats, plan: LiftPlan) -> Bools:
    """A point estimate of 15% or more with a lower bound of 5% or more."""
    fair = shown_at_looks(treatment, control, plan, lift=_FAIR, finds="better")
    return np.asarray(fair & (_lift(treatment, control) >= _STRONG))


def _late_enough(yes: Bools, plan: LiftPlan) -> Bools:
    yes = np.array(yes)
    yes[:, : plan.minimum - 1] = False
    return yes


RULES: dict[str, tuple[str, Watch]] = {
    "worse: upper bound < 0": ("rollback", _bet("worse", 0.0)),
    "raw: point < -5%": ("rollback", _raw),
    "z-test, peeked: worse": ("rollback", lambda t, c, plan: _peeked_z(t, c, plan, sign=-1)),
    "better: lower bound > 0": ("promotion", _bet("better", 0.0)),
    "lower bound >= 5%": ("promotion", _bet("better", _FAIR)),
    "point >= 15%, lower bound >= 5%": ("promotion", _production),
    "lower bound >= 15%": ("promotion", _bet("better", _STRONG)),
    "raw: point >= 15%": ("promotion", lambda t, c, plan: _raw(t, c, plan, above=_STRONG)),
    "z-test, peeked: better": ("promotion", lambda t, c, plan: _peeked_z(t, c, plan, sign=1)),
}
"""What ends a release and how it is watched."""


def release_trials(
    plan: LiftPlan,
    size: TrialSize,
    worlds: Sequence[ReleaseWorld],
    *,
    effects: Sequence[float] = EFFECTS,
    limit_factor: float | None = LIMIT_FACTOR,
    report: Callable[[int], None] = lambda _: None,
) -> dict[str, dict[str, Any]]:
    """Return by world and effect what each rule does; `report` gets the number of releases done.

    With `limit_factor` the limit of each release follows from a pilot and a history of its own; else it is the plan's.
    """
    judged = plan
    looks: dict[tuple[str, float, str], list[Ints]] = {}
    beyond: dict[tuple[str, float], list[Floats]] = {}
    for first in range(0, size.releases, _BATCH):
        count = min(_BATCH, size.releases - first)
        treated = assigned_days(size.seed * 1_000_000 + first, count, size.campaigns, np.full(size.days, 50.0))
        for number, world in enumerate(worlds):
            for effect in effects:
                rng = np.random.default_rng([size.seed, number, first])
                sides = full_pairs(world.draw(rng, treated, size.campaigns, effect), treated, count)
                if limit_factor is not None:
                    limits = _limits(world, rng, count, effect, limit_factor)[:, None]
                    sides, judged = (sides[0] / limits, sides[1] / limits), plan.model_copy(update={"clip_at": 1.0})
                for rule, answered_after in first_looks(sides, judged, effect).items():
                    looks.setdefault((world.name, effect, rule), []).append(answered_after)
                beyond.setdefault((world.name, effect), []).append(_beyond(sides, judged))
        report(first + count)
    results: dict[str, dict[str, Any]] = {world.name: {} for world in worlds}
    for (name, effect, rule), parts in looks.items():
        results[name].setdefault(f"{effect:+.0%}", {})[rule] = share_found(np.concatenate(parts))
    for (name, effect), shares in beyond.items():
        results[name][f"{effect:+.0%}"]["beyond_share_99"] = float(np.quantile(np.concatenate(shares), 0.99))
    return results


def _limits(world: ReleaseWorld, rng: np.random.Generator, releases: int, effect: float, factor: float) -> Floats:
    """The limit of each release, (R,), from a fortnight of 20 campaigns with the agent and one with the incumbent."""
    treated = np.zeros((2 * _EARLIER[0], releases * _EARLIER[1]), bool)
    treated[: _EARLIER[0]] = True
    value = world.draw(rng, treated, _EARLIER[1], effect).value_micros.reshape(2, -1, releases, _EARLIER[1])
    return np.array(
        [observation_limit(value[0, :, each], value[1, :, each], _RULES, factor=factor) for each in range(releases)]
    )


def first_looks(sides: tuple[Floats, Floats], plan: LiftPlan, effect: float) -> dict[str, Ints]:
    """After how many pairs each rule answers, (R,), 0: never; without an effect every rule is asked."""
    wanted = {"rollback", "promotion"} if effect == 0 else {"rollback" if effect < 0 else "promotion"}
    answered_after = {}
    for name, (ends, watch) in RULES.items():
        if ends in wanted:
            yes = watch(*sides, plan)
            answered_after[name] = np.where(yes.any(axis=1), yes.argmax(axis=1) + 1, 0)
    return answered_after


def full_pairs(
    days: Days,
    treated: Bools,
    releases: int,
    rules: PairRules = _RULES,
    *,
    known_share: Floats | None = None,
    person_time: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Treatment and control of each release's pairs, (R, P) each, in the order of a release.

    Releases are columns, side by side. What a release has fewer pairs than others is filled with pairs of nothing,
    which change no stake.
    """
    pairs = cut_pairs(
        ReleaseDays(days.value_micros, days.spend_micros, treated, known_share), rules, person_time=person_time
    )
    release = pairs.campaign // (treated.shape[1] // releases)
    order = np.argsort(release, kind="stable")
    counts = np.bincount(release, minlength=releases)
    place = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    sides = np.zeros((2, releases, int(counts.max(initial=0))))
    sides[0, release[order], place], sides[1, release[order], place] = pairs.treatment[order], pairs.control[order]
    return sides[0], sides[1]


def share_found(looks: Ints) -> dict[str, float | int | None]:
    """The share of releases, and after how many pairs half and 80% of all releases are found; none: fewer are."""
    ordered = np.sort(np.where(looks > 0, looks, np.iinfo(np.int64).max))

    def reached(share: float) -> int | None:
        at = ordered[int(np.ceil(share * len(ordered))) - 1]
        return int(at) if at < np.iinfo(np.int64).max else None

    return {"share": float((looks > 0).mean()), "median_pairs": reached(0.5), "pairs_80": reached(0.8)}


def _beyond(sides: tuple[Floats, Floats], plan: LiftPlan) -> Floats:
    """The larger share of either side's value above the limit, (R,)."""
    if plan.clip_at is None:
        return np.zeros(len(sides[0]))
    return np.asarray(np.max([np.maximum(x - plan.clip_at, 0).sum(axis=1) / x.sum(axis=1) for x in sides], axis=0))


def keeps(results: Mapping[str, Mapping[str, Any]], rule: str, share_max: float) -> list[str]:
    """Name every world in which the rule ends more releases of an identical agent than allowed."""
    return [
        f"{world}: {rule} in {of['+0%'][rule]['share']:.1%} of releases without a lift, allowed are {share_max:.0%}"
        for world, of in results.items()
        if of["+0%"][rule]["share"] > share_max
    ]
