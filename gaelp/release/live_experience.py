"""What comes back from live campaigns, checked before an agent may learn from it: poisoned rows are set aside by name.

Whoever can write rows, or provoke them, could teach an agent to bid as they like: forged or repeated decisions, sales
of an absurd value, clicks by machines. So rows count only if they belong to a decision of a known policy in an episode
of this release, if their figures are possible, if their density is that of the recorded policy, and if they are not far
from everything that was seen before. Where too much is wrong, nothing is learned at all.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pandas as pd
import pyarrow as pa
from pydantic import Field

from gaelp.arrays import Bools
from gaelp.config.base import Frozen
from gaelp.errors import BadInput, Refused
from gaelp.release.live_checks import (
    LiveLimits,
    dominating,
    impossible,
    outside_seen,
    repeated,
    seen_ranges,
    value_jumps,
    wrong_density,
)
from gaelp.storage.schema import TableName

__all__ = ["LiveExperience", "LiveRecord", "PoisonKind", "SetAside", "screen_live"]

LiveTables = Mapping[TableName, pa.Table]

_CELL = ["campaign", "segment", "at"]
_DECISION_KEY = ["episode", "step", "segment"]
_REPORT_KEY = [*_CELL, "revision"]
_SALE_KEY = ["conversion", "revision"]
_SHOWN = 3


class PoisonKind(StrEnum):
    """All that may be wrong with a row from live campaigns; a row counts under the first that it has."""

    UNKNOWN_POLICY = "unknown_policy"
    UNKNOWN_EPISODE = "unknown_episode"
    REPEATED = "repeated"
    UNDECIDED = "undecided"
    IMPOSSIBLE = "impossible"
    WRONG_DENSITY = "wrong_density"
    VALUE_JUMP = "value_jump"
    OUTSIDE_SEEN = "outside_seen"
    DOMINATING = "dominating"


class LiveRecord(Frozen):
    """What the release itself knows of its campaigns, not from the rows that are checked."""

    action_log_sd: dict[str, float | None] = Field(
        description="policy versions whose rows may count: spread of the log action; none: deterministic, no density"
    )
    episodes: dict[str, str] = Field(description="episodes of the release, and the campaign of each")


class SetAside(Frozen):
    """Rows of one table that do not count, for one reason."""

    table: TableName
    kind: PoisonKind
    rows: int
    examples: tuple[str, ...] = Field(description="ids of the first few")


@dataclass(frozen=True, slots=True)
class LiveExperience:
    """The rows that an agent may learn from, and what was set aside."""

    tables: dict[TableName, pa.Table]
    set_aside: tuple[SetAside, ...]
    rows: int  # that were checked

    @property
    def counts(self) -> dict[str, int]:
        """How many rows were set aside, by kind."""
        kinds = {each.kind for each in self.set_aside}
        return {kind.value: sum(each.rows for each in self.set_aside if each.kind is kind) for kind in sorted(kinds)}


def screen_live(
    live: LiveTables, trusted: LiveTables, record: LiveRecord, limits: LiveLimits | None = None
) -> LiveExperience:
    """Return the live rows that may be learned from; Refused where too many of them may not.

    `trusted` are rows that the agent was trained or judged on before: what is usual is measured on them.
    """
    limits = limits or LiveLimits()
    if not trusted[TableName.HOUR_REPORTS].num_rows:
        raise BadInput("no trusted hour reports seen: give those of the history that the agent was judged on")
    decisions, reports, sales = (
        live[name].to_pandas() for name in (TableName.DECISIONS, TableName.HOUR_REPORTS, TableName.CONVERSIONS)
    )
    bad_decisions = _first_problem(decisions, _decision_checks(decisions, record))
    decided = decisions[bad_decisions == ""]
    before = trusted[TableName.HOUR_REPORTS].to_pandas()
    bad_reports = _first_problem(reports, _report_checks(reports, before, decided, record, limits))
    bad_sales = _first_problem(sales, _sale_checks(sales, reports[bad_reports == ""], record))
    checked = {
        TableName.DECISIONS: (decisions, bad_decisions),
        TableName.HOUR_REPORTS: (reports, bad_reports),
        TableName.CONVERSIONS: (sales, bad_sales),
    }
    set_aside = tuple(each for name, (rows, bad) in checked.items() for each in _listed(name, rows, bad))
    _refuse_too_much(checked, set_aside, limits)
    kept = {name: live[name].filter(pa.array(bad == "")) for name, (_, bad) in checked.items()}
    others = {name: table for name, table in live.items() if name not in kept}
    return LiveExperience({**others, **kept}, set_aside, sum(len(rows) for rows, _ in checked.values()))


Checks = Mapping[PoisonKind, Callable[[], Bools]]


def _decision_checks(rows: pd.DataFrame, record: LiveRecord) -> Checks:
    return {
        PoisonKind.UNKNOWN_POLICY: lambda: _unknown_policy(rows, record),
        PoisonKind.UNKNOWN_EPISODE: lambda: _not_equal(rows["episode"].map(record.episodes), rows["campaign"]),
        PoisonKind.REPEATED: lambda: repeated(rows, _DECISION_KEY) | repeated(rows, _CELL),
        PoisonKind.IMPOSSIBLE: lambda: np.asarray((rows["bid_micros"] < 0) | ~_finite(rows["action"]), bool),
        PoisonKind.WRONG_DENSITY: lambda: wrong_density(rows, record.action_log_sd),
    }


def _report_checks(
    rows: pd.DataFrame, before: pd.DataFrame, decided: pd.DataFrame, record: LiveRecord, limits: LiveLimits
) -> Checks:
    """The checks of figures that are compared with others leave out rows that are wrong by themselves."""
    usual, alone = seen_ranges(before), np.zeros(len(rows), bool)
    campaigns = set(record.episodes.values())
    simple: dict[PoisonKind, Callable[[], Bools]] = {
        PoisonKind.UNKNOWN_POLICY: lambda: _unknown_policy(rows, record),
        PoisonKind.UNKNOWN_EPISODE: lambda: np.asarray(~rows["campaign"].isin(campaigns), bool),
        PoisonKind.REPEATED: lambda: repeated(rows, _REPORT_KEY),
        PoisonKind.UNDECIDED: lambda: _undecided(rows, decided),
        PoisonKind.IMPOSSIBLE: lambda: impossible(rows, limits),
    }
    for check in simple.values():
        alone |= check()
    newest = np.asarray(~rows.sort_values("revision").duplicated(_CELL, keep="last").reindex(rows.index), bool)
    sound = ~alone & newest

    def among_sound(check: Callable[[pd.DataFrame], Bools]) -> Bools:
        flags = np.zeros(len(rows), bool)
        flags[sound] = check(rows[sound])
        return flags

    return {
        **simple,
        PoisonKind.VALUE_JUMP: lambda: among_sound(lambda part: value_jumps(part, before, limits)),
        PoisonKind.OUTSIDE_SEEN: lambda: among_sound(lambda part: outside_seen(part, usual, limits)),
        PoisonKind.DOMINATING: lambda: among_sound(lambda part: dominating(part, usual, limits)),
    }


def _sale_checks(rows: pd.DataFrame, reports: pd.DataFrame, record: LiveRecord) -> Checks:
    """A sale counts if its click may be in an hour whose report counts."""
    campaigns = set(record.episodes.values())
    clicked = reports[reports["clicks"].fillna(0) > 0]
    hours = pd.MultiIndex.from_frame(clicked[["campaign", "at"]])
    at = rows["click_at"].dt.floor("h")
    value = rows["value_micros"].astype(float)
    return {
        PoisonKind.UNKNOWN_EPISODE: lambda: np.asarray(~rows["campaign"].isin(campaigns), bool),
        PoisonKind.REPEATED: lambda: repeated(rows, _SALE_KEY),
        PoisonKind.UNDECIDED: lambda: ~pd.MultiIndex.from_arrays([rows["campaign"], at]).isin(hours),
        PoisonKind.IMPOSSIBLE: lambda: np.asarray((value < 0) | (rows["reported_at"] < rows["click_at"]), bool),
    }


def _unknown_policy(rows: pd.DataFrame, record: LiveRecord) -> Bools:
    return np.asarray(~rows["policy"].isin(list(record.action_log_sd)), bool)


def _undecided(rows: pd.DataFrame, decided: pd.DataFrame) -> Bools:
    """Spend before the first decision of the segment that counts: nobody in this release ordered it."""
    first = decided.groupby(["campaign", "segment"], observed=True)["at"].min().rename("first").reset_index()
    begun = rows[["campaign", "segment", "at"]].merge(first, how="left", on=["campaign", "segment"])
    never = (begun["first"].isna() | (begun["at"] < begun["first"])).to_numpy()
    return np.asarray(never & (rows["spend_micros"].fillna(0).to_numpy() > 0), bool)


def _first_problem(rows: pd.DataFrame, checks: Checks) -> np.ndarray:
    """The first kind of problem that each row has, (R,), empty where it has none."""
    kinds = np.full(len(rows), "", dtype=object)
    for kind, check in checks.items():
        bad = check() if len(rows) else np.zeros(0, bool)
        kinds[(kinds == "") & bad] = kind.value
    return kinds


def _listed(name: TableName, rows: pd.DataFrame, bad: np.ndarray) -> list[SetAside]:
    return [
        SetAside(
            table=name,
            kind=PoisonKind(kind),
            rows=int((bad == kind).sum()),
            examples=tuple(rows["id"][bad == kind].astype(str).head(_SHOWN)),
        )
        for kind in sorted(set(bad) - {""})
    ]


def _refuse_too_much(
    checked: Mapping[TableName, tuple[pd.DataFrame, np.ndarray]], set_aside: tuple[SetAside, ...], limits: LiveLimits
) -> None:
    for name, (_, bad) in checked.items():
        share = float((bad != "").mean()) if len(bad) else 0.0
        if share > limits.set_aside_share_max:
            kinds = ", ".join(
                f"{each.kind} {each.rows} (such as {each.examples[0]})" for each in set_aside if each.table is name
            )
            raise Refused(
                f"{share:.1%} of the {len(bad)} live rows of {name} cannot be trusted: {kinds}; allowed:"
                f" {limits.set_aside_share_max:.0%}. Nothing is learned from this release: find out who wrote these"
                " rows, and remove them by their source"
            )


def _finite(column: pd.Series) -> pd.Series:
    return column.astype(float).fillna(0.0).abs() < float("inf")


def _not_equal(left: pd.Series, right: pd.Series) -> Bools:
    return np.asarray(left.astype(object).to_numpy() != right.astype(object).to_numpy(), bool)
