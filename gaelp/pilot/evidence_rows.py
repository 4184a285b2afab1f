"""The rows of a pilot for the episode store: hour reports with revisions, decisions, spend and episodes."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa

from gaelp.arrays import Ints
from gaelp.clock import account_day
from gaelp.importing.segment_hours import SegmentHour, hour_report_table
from gaelp.pilot.decision_book import CampaignDecision
from gaelp.pilot.pilot_plan import PilotPlan
from gaelp.pilot.report_arrays import PilotPlaces
from gaelp.pilot.seen_hours import SeenHours
from gaelp.storage.schema import TABLES, EpisodeState, TableName
from gaelp.storage.store import EpisodeStore, RowFilter
from gaelp.types import Phase

__all__ = ["EvidenceRows", "PilotSource"]

_FIGURES = {  # of stored rows, and what they are called in the reported hours
    "impressions": "impressions",
    "clicks": "clicks",
    "conversions": "conversions",
    "spend_micros": "cost_micros",
    "value_micros": "value_micros",
}


@dataclass(frozen=True, slots=True)
class PilotSource:
    """What all rows of a pilot have in common."""

    source: str  # the run's, as of its other phases
    policy: str
    objective: str
    phase: Phase = Phase.PILOT
    decided_by: Callable[[str, datetime], str] | None = None  # a campaign at an instant; none: always the policy

    def policy_at(self, campaign: str, at: datetime) -> str:
        """Whose bids a campaign has at an instant."""
        return self.policy if self.decided_by is None else self.decided_by(campaign, at)


class EvidenceRows:
    """Appends what a pilot did and saw; the same row is stored once, however often it is appended."""

    def __init__(self, store: EpisodeStore, plan: PilotPlan, places: PilotPlaces, source: PilotSource) -> None:
        """After a restart, what is stored of the pilot is read first, so that revisions continue."""
        self._store, self._plan, self._places, self._source = store, plan, places, source
        self._stored = {name: np.zeros((0, *places.shape)) for name in _FIGURES}  # as stored last
        self._revision = np.full((0, *places.shape), -1, np.int64)  # stored last; -1: none
        self._read_stored()

    def append_hours(self, reported: SeenHours, bids: Mapping[int, Ints], at: datetime) -> int:
        """Store hours that are new or changed since they were stored, with the bids in force; returns how many."""
        self._grow(len(reported.impressions))
        changed = self._revision[: len(reported.impressions)] < 0
        for name, kept in _FIGURES.items():
            changed |= self._stored[name][: len(changed)] != getattr(reported, kept)
        hours, spends = list[SegmentHour](), list[dict[str, Any]]()
        for hour, row, column in np.argwhere(changed).tolist():
            place = (hour, row, column)
            if column >= len(self._plan.campaigns[row].targets):
                continue
            self._revision[place] += 1
            hours.append(self._hour(reported, place, bids.get(hour), at))
            spends += self._spend(reported, place, at)
            for name, kept in _FIGURES.items():
                self._stored[name][place] = getattr(reported, kept)[place]
        batch = {TableName.HOUR_REPORTS: self._hour_table(hours)}
        if spends:
            batch[TableName.SPEND_EVENTS] = _table(TableName.SPEND_EVENTS, spends)
        if hours:
            self._store.append(batch)
        return len(hours)

    def _read_stored(self) -> None:
        rows = RowFilter(phases=(self._source.phase,), sources=(self._source.source,))
        columns = ("at", "campaign", "segment", "revision", *_FIGURES)
        for table in self._store.scan(TableName.HOUR_REPORTS, rows, columns):
            for stored in table.to_pylist():
                place = self._places.place(stored["campaign"], stored["segment"])
                if place is not None:
                    self._note(self._places.hour(stored["at"]), place, stored)

    def _note(self, hour: int, place: tuple[int, int], stored: dict[str, Any]) -> None:
        self._grow(hour + 1)
        at = (hour, *place)
        if stored["revision"] > self._revision[at]:
            self._revision[at] = stored["revision"]
            for name in _FIGURES:
                self._stored[name][at] = stored[name]

    def append_decisions(self, decisions: list[CampaignDecision]) -> None:
        """Store what was decided; the density is null, for the policy is deterministic."""
        rows = [row for decision in decisions for row in self._decisions(decision)]
        if rows:
            self._store.append({TableName.DECISIONS: _table(TableName.DECISIONS, rows)})

    def append_episodes(
        self, state: EpisodeState, at: datetime, *, reported: SeenHours | None = None, reason: str | None = None
    ) -> None:
        """Store the state of every campaign's episode: running, or how it ended and what it brought."""
        rows = []
        for row, campaign in enumerate(self._plan.campaigns):
            name = f"{self._plan.name}/{campaign.name}"
            rows.append(
                {
                    **self._common(f"{name}/{state}", campaign.name, self._places.begins),
                    "episode": name,
                    "state": state.value,
                    "reason": reason,
                    "market": self._plan.account,
                    "objective": self._source.objective,
                    "seed": None,
                    "started_at": self._places.begins,
                    "ended_at": None if state is EpisodeState.RUNNING else at,
                    "steps": 0 if reported is None else len(reported.impressions),
                    "budget_micros": campaign.daily_micros * self._plan.days,
                    "reward": None,
                    **_totals(reported, row),
                }
            )
        self._store.append({TableName.EPISODES: _table(TableName.EPISODES, rows)})

    # Rows

    def _grow(self, hours: int) -> None:
        more = hours - len(self._revision)
        if more > 0:
            self._revision = np.concatenate([self._revision, np.full((more, *self._places.shape), -1, np.int64)])
            for name, kept in self._stored.items():
                self._stored[name] = np.concatenate([kept, np.zeros((more, *self._places.shape))])

    def _hour(self, reported: SeenHours, place: tuple[int, int, int], bids: Ints | None, at: datetime) -> SegmentHour:
        hour, row, column = place
        start = self._places.start(hour)
        campaign = self._plan.campaigns[row]
        return SegmentHour(
            account=self._plan.account,
            campaign=campaign.name,
            segment=campaign.targets[column],
            start=start,
            account_day=account_day(start, self._plan.time_zone),
            revision=int(self._revision[place]),
            reported_at=at,
            bid_micros=None if bids is None or not bids[row, column] else int(bids[row, column]),
            impression_share=None,
            impressions=int(reported.impressions[place]),
            clicks=int(reported.clicks[place]),
            conversions=float(reported.conversions[place]),
            spend_micros=int(reported.cost_micros[place]),
            value_micros=int(reported.value_micros[place]),
        )

    def _hour_table(self, hours: list[SegmentHour]) -> pa.Table:
        by_policy: dict[str, list[SegmentHour]] = {}
        for hour in hours:
            by_policy.setdefault(self._source.policy_at(hour.campaign, hour.start), []).append(hour)
        tables = [
            hour_report_table(own, phase=self._source.phase, source=self._source.source, policy=policy)
            for policy, own in by_policy.items()
        ]
        return pa.concat_tables(tables or [TABLES[TableName.HOUR_REPORTS].columns.empty_table()])

    def _spend(self, reported: SeenHours, place: tuple[int, int, int], at: datetime) -> Iterator[dict[str, Any]]:
        """The cost of an hour as a charge, and later changes as credits or adjustments."""
        hour, row, column = place
        more = int(reported.cost_micros[place] - self._stored["spend_micros"][place])
        if more == 0:
            return
        start, campaign, revision = self._places.start(hour), self._plan.campaigns[row], int(self._revision[place])
        kind = "charge" if revision == 0 else "credit" if more < 0 else "adjustment"
        yield {
            **self._common(
                f"{self._plan.name}/{campaign.name}/{campaign.targets[column]}/{hour}/{revision}", campaign.name, start
            ),
            "account": self._plan.account,
            "account_day": account_day(start, self._plan.time_zone),
            "kind": kind,
            "amount_micros": more,
            "reported_at": at,
            "order": None,
        }

    def _decisions(self, decision: CampaignDecision) -> Iterator[dict[str, Any]]:
        campaign = self._plan.campaigns[self._places.campaigns[decision.campaign]]
        start = self._places.start(decision.interval)
        for column, target in enumerate(campaign.targets):
            name = f"{self._plan.name}/{decision.campaign}/{target}/{decision.interval}"
            yield {
                **self._common(name, decision.campaign, start),
                "episode": f"{self._plan.name}/{decision.campaign}",
                "step": decision.interval,
                "segment": target,
                "bid_micros": decision.bids_micros[column],
                "action": decision.log_factor[column],
                "density": decision.density,
            }

    def _common(self, name: str, campaign: str, at: datetime) -> dict[str, Any]:
        return {
            "id": name,
            "at": at,
            "phase": self._source.phase.value,
            "source": self._source.source,
            "campaign": campaign,
            "policy": self._source.policy_at(campaign, at),
        }


def _totals(reported: SeenHours | None, row: int) -> dict[str, Any]:
    if reported is None:
        return dict.fromkeys(_FIGURES)
    totals = {name: getattr(reported, kept)[:, row].sum() for name, kept in _FIGURES.items()}
    return {name: float(total) if name == "conversions" else int(total) for name, total in totals.items()}


def _table(name: TableName, rows: list[dict[str, Any]]) -> pa.Table:
    columns = TABLES[name].columns
    return pa.Table.from_pylist([{field: row.get(field) for field in columns.names} for row in rows], schema=columns)
