"""Decide a batch of observations: each campaign by its version, by the last good one where that fails, and by shadows.

Everything here runs in one thread, except that traffic and versions are replaced as a whole from another.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gaelp.arrays import Bools, Floats32, Ints, Ints8
from gaelp.errors import GaelpError
from gaelp.gateway.campaign_book import CampaignBook
from gaelp.gateway.gateway_metrics import GatewayMetrics
from gaelp.gateway.loaded_version import LoadedVersion
from gaelp.gateway.shadow_record import ShadowTraffic
from gaelp.gateway.traffic import Traffic
from gaelp.gateway.wire import WireRows, observation_of
from gaelp.market.campaign_rows import take
from gaelp.market.view import Action, Observation
from gaelp.observability import get_logger

__all__ = ["Decided", "Decider", "NothingServes", "Serving"]

log = get_logger(__name__)


class NothingServes(GaelpError):
    """No version can decide: none has traffic, or each that may failed."""


@dataclass(frozen=True, slots=True)
class Serving:
    """What serves now; replaced as a whole, so that a batch sees one state from its begin to its end."""

    versions: Mapping[int, LoadedVersion] = field(default_factory=dict)
    traffic: Traffic | None = None
    earlier: tuple[int, ...] = ()  # that had traffic before, the newest first; they answer where all others fail

    def candidates(self, version: int) -> Iterator[LoadedVersion]:
        """The version, then those that answer where it fails, in their order."""
        others = self.traffic.alternatives(version) if self.traffic else ()
        for number in dict.fromkeys((version, *others, *self.earlier)):
            if number in self.versions:
                yield self.versions[number]


@dataclass(slots=True)
class Decided:
    """One decision a campaign."""

    campaigns: Sequence[str]
    hour: Ints  # (N,)
    assigned: Ints  # (N,) version that the traffic names
    version: Ints  # (N,) version that decided
    repeated: Bools  # (N,) whether this is the decision that was made before for the same hour
    bid_micros: Ints  # (N, S) an impression
    pace: Floats32  # (N,)
    creative: Ints8  # (N, S); -1: none was chosen


class Decider:
    """Campaigns, versions and traffic of one gateway."""

    def __init__(self, book: CampaignBook, metrics: GatewayMetrics, shadow: ShadowTraffic) -> None:
        self.book, self.metrics, self._shadow = book, metrics, shadow
        self.serving = Serving()

    def decide(self, asked: WireRows) -> Decided:
        """Decide for these campaigns, all or none: an error says why nothing was decided."""
        serving, book, rows = self.serving, self.book, self.book.rows(asked.campaigns)
        if serving.traffic is None:
            raise NothingServes("no version has traffic yet: PUT /admin/traffic gives it to one")
        hours = asked.arrays["hour"]
        repeated = book.check_hours(rows, hours)
        assigned = serving.traffic.assigned(book.table("score")[rows])
        assigned = np.where(repeated, book.table("version")[rows], assigned)
        fresh = np.flatnonzero(~repeated)
        if fresh.size:
            self._decide_fresh(serving, _observation(asked, fresh), rows[fresh], assigned[fresh])
        self.metrics.repeated.inc(len(rows) - fresh.size)
        return Decided(
            campaigns=asked.campaigns,
            hour=hours,
            assigned=assigned,
            version=book.table("version")[rows],
            repeated=repeated,
            bid_micros=book.table("bid_micros")[rows],
            pace=book.table("last_pace")[rows],
            creative=book.table("last_creative")[rows],
        )

    def watch(self, asked: WireRows) -> None:
        """Let the shadows decide what was just decided, and record both; an error of theirs touches nobody."""
        serving = self.serving
        if serving.traffic is None or not serving.traffic.shadow:
            return
        rows = self.book.rows(asked.campaigns)
        obs = _observation(asked, np.arange(len(rows)))
        for number in serving.traffic.shadow:
            began = time.perf_counter()
            try:
                action = serving.versions[number].decide(self.book, rows, obs)
            except Exception as problem:  # noqa: BLE001 - whatever a shadow does, it is counted and logged
                self._count_error(number, problem, len(rows))
                continue
            self.metrics.shadowed(number, len(rows), time.perf_counter() - began)
            self._shadow.add(number, asked, self.book, rows, action)

    def _decide_fresh(self, serving: Serving, obs: Observation, rows: Ints, assigned: Ints) -> None:
        """All versions decide before anything is remembered, so that a failure leaves no campaign half decided."""
        made: list[tuple[Ints, Action, LoadedVersion]] = []
        for number in np.unique(assigned):
            here = np.flatnonzero(assigned == number)
            part = obs if len(here) == len(rows) else take(obs, here)
            made += [
                (here[places], action, version)
                for places, action, version in self._with_stand_in(serving, int(number), rows[here], part)
            ]
        for places, action, version in made:
            self.book.note(rows[places], obs.hour[places], action, version.number)

    def _with_stand_in(
        self, serving: Serving, number: int, rows: Ints, obs: Observation
    ) -> list[tuple[Ints, Action, LoadedVersion]]:
        """Decisions by the version, or by the next that can; a failing batch is halved to find whose rows fail."""
        problem: Exception | None = None
        for version in serving.candidates(number):
            began = time.perf_counter()
            try:
                action = version.decide(self.book, rows, obs)
            except Exception as error:  # noqa: BLE001 - whatever a version does, another one answers
                problem = error
                self._count_error(version.number, error, len(rows))
                if len(rows) > 1:
                    return self._halved(serving, number, rows, obs)
                continue
            self.metrics.decided(version.number, len(rows), time.perf_counter() - began)
            if version.number != number:
                self.metrics.stood_in(number, version.number, len(rows))
                log.error("a version failed and another one stood in", failed=number, decided=version.number)
            return [(np.arange(len(rows)), action, version)]
        why = f"the last error was {type(problem).__name__}" if problem else "it is not loaded"
        raise NothingServes(
            f"version {number} cannot decide and no other one answers for it ({why}): the log says more"
        )

    def _halved(
        self, serving: Serving, number: int, rows: Ints, obs: Observation
    ) -> list[tuple[Ints, Action, LoadedVersion]]:
        middle = len(rows) // 2
        made = []
        for part in (np.arange(middle), np.arange(middle, len(rows))):
            for places, action, version in self._with_stand_in(serving, number, rows[part], take(obs, part)):
                made.append((part[places], action, version))
        return made

    def _count_error(self, number: int, problem: Exception, campaigns: int) -> None:
        self.metrics.failed(number, campaigns, type(problem).__name__)
        log.error("a version could not decide", version=number, campaigns=campaigns, problem=repr(problem)[:300])


def _observation(asked: WireRows, places: Ints) -> Observation:
    return observation_of(asked, None if len(places) == len(asked.campaigns) else places)
