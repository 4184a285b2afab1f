"""Check what a log can carry: each problem has a kind, what was seen, what is needed and the way out.

A problem has one of three consequences. `refuse`: a figure computed from the log would be wrong, so there is none.
`inconclusive`: the figures would be right but the data cannot settle the question. `model_based`: the log has no
propensities, so the verdict must rest on the market's fidelity instead of weights.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import numpy as np
from pydantic import Field

from gaelp.arrays import Bools
from gaelp.config.base import Frozen
from gaelp.errors import Refused
from gaelp.history.logged_campaigns import LoggedDecisions
from gaelp.history.split_windows import SplitWindow

__all__ = ["CONSEQUENCES", "Consequence", "LogCheck", "LogLimits", "LogProblem", "ProblemKind", "check_log"]

Consequence = Literal["refuse", "inconclusive", "model_based"]
_SHOWN = 3


class ProblemKind(StrEnum):
    """All that may be wrong with a log."""

    NO_ROWS = "no_rows"
    NO_PROPENSITIES = "no_propensities"
    MISSING_DENSITIES = "missing_densities"
    ZERO_DENSITIES = "zero_densities"
    NEGATIVE_DENSITIES = "negative_densities"
    NOT_FINITE_DENSITIES = "not_finite_densities"
    REPEATED_ROWS = "repeated_rows"
    TWO_SOURCES = "two_sources"
    LEAKED_ROWS = "leaked_rows"
    LEAKED_REPORTS = "leaked_reports"
    CLOCK_BACKWARDS = "clock_backwards"
    SPEND_WITHOUT_DECISIONS = "spend_without_decisions"
    FEW_CLICKS = "few_clicks"
    FEW_CONVERSIONS = "few_conversions"
    FEW_DAYS = "few_days"
    FEW_CAMPAIGNS = "few_campaigns"


CONSEQUENCES: dict[ProblemKind, Consequence] = {
    ProblemKind.NO_ROWS: "inconclusive",
    ProblemKind.NO_PROPENSITIES: "model_based",
    ProblemKind.MISSING_DENSITIES: "refuse",
    ProblemKind.ZERO_DENSITIES: "refuse",
    ProblemKind.NEGATIVE_DENSITIES: "refuse",
    ProblemKind.NOT_FINITE_DENSITIES: "refuse",
    ProblemKind.REPEATED_ROWS: "refuse",
    ProblemKind.TWO_SOURCES: "refuse",
    ProblemKind.LEAKED_ROWS: "refuse",
    ProblemKind.LEAKED_REPORTS: "refuse",
    ProblemKind.CLOCK_BACKWARDS: "refuse",
    ProblemKind.SPEND_WITHOUT_DECISIONS: "inconclusive",
    ProblemKind.FEW_CLICKS: "inconclusive",
    ProblemKind.FEW_CONVERSIONS: "inconclusive",
    ProblemKind.FEW_DAYS: "inconclusive",
    ProblemKind.FEW_CAMPAIGNS: "inconclusive",
}


class LogLimits(Frozen):
    """The least that a log must have, and how much of the spend may be by campaigns without decisions."""

    clicks_min: int = Field(default=1_000, ge=1)
    conversions_min: int = Field(default=50, ge=1, description="50 have a chance error of 14% alone")
    days_min: int = Field(default=6, ge=1)
    campaigns_min: int = Field(default=2, ge=1)
    undecided_spend_share_max: float = Field(default=0.01, ge=0, le=1)


@dataclass(frozen=True, slots=True)
class LogProblem:
    """One thing that is wrong with a log."""

    kind: ProblemKind
    observed: str
    needed: str
    way_out: str

    @property
    def consequence(self) -> Consequence:
        """What follows from it."""
        return CONSEQUENCES[self.kind]

    def __str__(self) -> str:
        return f"{self.kind}: {self.observed}; needed: {self.needed}. {self.way_out}"


@dataclass(frozen=True, slots=True)
class LogCheck:
    """All problems of a log, in the order of ProblemKind."""

    problems: tuple[LogProblem, ...]

    def of(self, consequence: Consequence) -> tuple[LogProblem, ...]:
        """The problems with this consequence."""
        return tuple(problem for problem in self.problems if problem.consequence == consequence)

    @property
    def carries_weights(self) -> bool:
        """Whether estimates that weigh by logged densities may be computed and can be conclusive."""
        return not self.problems

    @property
    def needs_model(self) -> bool:
        """Whether only the path without propensities is left."""
        return bool(self.of("model_based"))

    def require_usable(self) -> None:
        """Raise Refused with every problem that makes figures wrong; nothing if there is none."""
        if refusals := self.of("refuse"):
            listed = " | ".join(map(str, refusals))
            raise Refused(f"the log cannot be used ({len(refusals)} of its problems make figures wrong): {listed}")


def check_log(
    logged: LoggedDecisions,
    limits: LogLimits | None = None,
    *,
    window: SplitWindow | None = None,
    others: Sequence[SplitWindow] = (),
) -> LogCheck:
    """List everything that is wrong with a log, which is meant to be of `window` and to have no row of `others`."""
    limits = limits or LogLimits()
    problems = [
        *_densities(logged),
        *_repeats(logged),
        *_leaks(logged, window, others),
        *_clocks(logged),
        *_amounts(logged, limits),
    ]
    order = list(ProblemKind)
    return LogCheck(tuple(sorted(problems, key=lambda problem: order.index(problem.kind))))


def _densities(logged: LoggedDecisions) -> Iterator[LogProblem]:
    rows, density = len(logged), logged.density
    if rows == 0:
        return
    missing = (logged.density_kind == 0) & np.isnan(density)
    if missing.all():
        yield LogProblem(
            ProblemKind.NO_PROPENSITIES,
            f"none of {rows:,} decisions has a density",
            "the density of each action under the policy that chose it, as `gaelp data synthesize` logs it",
            "The verdict then rests on the market's fidelity and meets the higher bar of the gate; to have weights,"
            " let the bidder draw its bids at random and log their density.",
        )
        return
    needed = "a finite density above 0 for each action, in the units of the action"
    way_out = "Correct the export of the log and import it again, or leave these campaigns out (--source, campaigns)."
    kinds = (
        (ProblemKind.MISSING_DENSITIES, missing, "no density"),
        (ProblemKind.ZERO_DENSITIES, density == 0, "a density of 0, which says that the logged action is impossible"),
        (ProblemKind.NEGATIVE_DENSITIES, (density < 0) & np.isfinite(density), "a density below 0"),
        (ProblemKind.NOT_FINITE_DENSITIES, ~np.isfinite(density) & ~missing, "a density that is NaN or infinite"),
    )
    for kind, wrong, what in kinds:
        if wrong.any():
            yield LogProblem(kind, f"{_share(wrong)} have {what} ({_examples(logged, wrong)})", needed, way_out)


def _repeats(logged: LoggedDecisions) -> Iterator[LogProblem]:
    """Rows are sorted by campaign, hour and segment, so rows of the same cell are neighbours."""
    cell = np.stack([logged.campaign, logged.hour_start.astype(np.int64), logged.segment])
    same = np.append(False, (cell[:, 1:] == cell[:, :-1]).all(axis=0))[: len(logged)]
    if not same.any():
        return
    across = same & (logged.source != np.roll(logged.source, 1))
    needed = "one decision for each campaign, hour and segment"
    if across.any():
        pairs = {tuple(sorted((logged.source[row - 1], logged.source[row]))) for row in np.flatnonzero(across).tolist()}
        names = ", ".join(" and ".join(logged.source_names[place] for place in pair) for pair in sorted(pairs)[:_SHOWN])
        yield LogProblem(
            ProblemKind.TWO_SOURCES,
            f"{_share(across)} are stored under two sources ({names})",
            needed,
            "Name one of the sources (--source); `gaelp data describe` lists them.",
        )
    if (within := same & ~across).any():
        yield LogProblem(
            ProblemKind.REPEATED_ROWS,
            f"{_share(within)} repeat the campaign, hour and segment of another row of their source"
            f" ({_examples(logged, within)})",
            needed,
            "Remove the repeated rows from the export, and import it again into another home.",
        )


def _leaks(logged: LoggedDecisions, window: SplitWindow | None, others: Sequence[SplitWindow]) -> Iterator[LogProblem]:
    for other in others:
        inside = other.contains(logged.campaign_names, logged.campaign, logged.account_day)
        if window is not None and inside.any():
            yield LogProblem(
                ProblemKind.LEAKED_ROWS,
                f"{_share(inside)} of the {window.name} set belong to the {other.name} window"
                f" ({_examples(logged, inside)})",
                f"only days {window.first_day} to {window.last_day} of campaigns that are not held out",
                "Read each window with `gaelp.history.splits.read_window`, which applies the bounds.",
            )
    if window is None:
        return
    outside = ~window.contains(logged.campaign_names, logged.campaign, logged.account_day)
    for other in others:
        outside &= ~other.contains(logged.campaign_names, logged.campaign, logged.account_day)
    if outside.any():
        yield LogProblem(
            ProblemKind.LEAKED_ROWS,
            f"{_share(outside)} are outside the {window.name} window ({_examples(logged, outside)})",
            f"only days {window.first_day} to {window.last_day} of campaigns that are not held out",
            "Read each window with `gaelp.history.splits.read_window`, which applies the bounds.",
        )
    newest = logged.facts.newest_report
    if newest is not None and newest > window.known_at:
        yield LogProblem(
            ProblemKind.LEAKED_REPORTS,
            f"a report of {newest.isoformat()} was used",
            f"only reports made by {window.known_at.isoformat()}, when the {window.name} figures are taken",
            f"Read the window with as_of={window.known_at.isoformat()}.",
        )


def _clocks(logged: LoggedDecisions) -> Iterator[LogProblem]:
    start = logged.hour_start.astype(np.int64)
    order = np.lexsort((start, logged.step, logged.source, logged.campaign))
    campaign, source = logged.campaign[order], logged.source[order]
    same = (campaign[1:] == campaign[:-1]) & (source[1:] == source[:-1])
    later_step = logged.step[order][1:] > logged.step[order][:-1]
    earlier = np.zeros(len(logged), bool)
    earlier[order[1:]] = same & later_step & (start[order][1:] < start[order][:-1])
    reasons = []
    if earlier.any():
        reasons.append(f"{_share(earlier)} have a later step and an earlier hour ({_examples(logged, earlier)})")
    if logged.facts.reports_before_their_hour:
        reasons.append(f"{logged.facts.reports_before_their_hour:,} reports were made before the hour they are about")
    if logged.facts.conversions_before_their_click:
        reasons.append(f"{logged.facts.conversions_before_their_click:,} conversions were reported before their click")
    if reasons:
        yield LogProblem(
            ProblemKind.CLOCK_BACKWARDS,
            "; ".join(reasons),
            "times that go forward: steps, hours, clicks and their reports",
            "Check the time zones of the export: times are UTC, or carry their offset.",
        )


def _amounts(logged: LoggedDecisions, limits: LogLimits) -> Iterator[LogProblem]:
    if len(logged) == 0:
        yield LogProblem(
            ProblemKind.NO_ROWS,
            "no decision was read",
            "at least one",
            "Import a log with bids (`gaelp data import`), make one (`gaelp data synthesize`), or name another source.",
        )
        return
    elsewhere = logged.facts.spend_without_decisions_micros
    undecided, decided = sum(elsewhere.values()), int(logged.spend_micros.sum())
    if undecided > limits.undecided_spend_share_max * (undecided + decided):
        named = ", ".join(list(elsewhere)[:_SHOWN])
        yield LogProblem(
            ProblemKind.SPEND_WITHOUT_DECISIONS,
            f"{len(elsewhere)} campaigns spent {undecided / 1e6:,.2f} and have no decision ({named})",
            f"decisions behind all but {limits.undecided_spend_share_max:.0%} of the spend",
            "Import their decisions, or name only the sources that have both.",
        )
    yield from _too_few(ProblemKind.FEW_CLICKS, int(logged.clicks.sum()), limits.clicks_min, "clicks")
    conversions = int(logged.conversions.sum())
    yield from _too_few(ProblemKind.FEW_CONVERSIONS, conversions, limits.conversions_min, "conversions")
    yield from _too_few(ProblemKind.FEW_DAYS, len(np.unique(logged.account_day)), limits.days_min, "days")
    campaigns = len(np.unique(logged.campaign))
    yield from _too_few(ProblemKind.FEW_CAMPAIGNS, campaigns, limits.campaigns_min, "campaigns")


def _too_few(kind: ProblemKind, count: int, least: int, what: str) -> Iterator[LogProblem]:
    if count < least:
        yield LogProblem(
            kind,
            f"{count:,} {what}",
            f"at least {least:,}",
            "Wait for more history or log more campaigns; `gaelp history plan` says how much settles the gate.",
        )


def _share(wrong: Bools) -> str:
    return f"{int(wrong.sum()):,} of {len(wrong):,} decisions"


def _examples(logged: LoggedDecisions, wrong: Bools) -> str:
    places = np.flatnonzero(wrong)[:_SHOWN].tolist()
    return ", ".join(
        f"{logged.campaign_names[logged.campaign[row]]}/{logged.segment_names[logged.segment[row]]} at"
        f" {np.datetime_as_string(logged.hour_start[row], unit='m')}Z"
        for row in places
    )
