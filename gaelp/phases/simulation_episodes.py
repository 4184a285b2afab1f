"""Stream the episodes of phase 1 into the store: a sample of those trained on, and all that the agent is judged on."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pyarrow as pa

from gaelp.config.settings import Settings
from gaelp.errors import GaelpError
from gaelp.market.episode_log import EpisodeLog, EpisodeSource, EpisodeWatcher, monday_before
from gaelp.observability import get_logger
from gaelp.phases.run_folder import PhaseFolder
from gaelp.phases.runs import read_record
from gaelp.storage.backends import build_store, episodes_folder
from gaelp.storage.episode_recorder import EpisodeRecorder
from gaelp.storage.schema import TableName
from gaelp.types import Phase

__all__ = ["SampledRounds", "SimulationEpisodes", "source_of"]

_log = get_logger(__name__)
_REASON_CHARACTERS = 500


@dataclass(frozen=True, slots=True)
class SampledRounds:
    """Which training episodes are stored: the first campaigns of every so many rounds."""

    every: int = 10
    campaigns: int = 8


@dataclass(slots=True)
class SimulationEpisodes:
    """Builds the watchers of one attempt at phase 1; without settings, nothing is stored."""

    folder: PhaseFolder
    settings: Settings | None = None
    sample: SampledRounds = field(default_factory=SampledRounds)
    recorder: EpisodeRecorder | None = None  # while `recorded`
    logs: list[EpisodeLog] = field(default_factory=list)  # of the recorder

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Store what the watchers see until the block ends; an error in the block fails the episodes being played.

        A store that takes nothing stops no training: the rows wait in the spill folder, and the next run stores them.
        """
        if self.settings is None:
            yield
            return
        spill = episodes_folder(self.settings.home) / "spill" / Phase.SIMULATION
        with closing(build_store(self.settings)) as store:
            recorder = self.recorder = EpisodeRecorder(store, spill)
            try:
                yield
            except BaseException as problem:
                for log in self.logs:
                    log.fail(_reason(problem))
                raise
            finally:
                self.recorder = None
                self.logs.clear()
                _close(recorder)

    def of_round(self, number: int) -> EpisodeWatcher | None:
        """The watcher of a training round; None if it is not sampled."""
        if self.recorder is None or number % self.sample.every:
            return None
        return self._watched_by(
            EpisodeLog(self._source("in-training", f"round-{number}"), self._put, self.sample.campaigns)
        )

    def of_policy(self, version: str) -> EpisodeWatcher | None:
        """The watcher of held-out episodes, all of which are stored."""
        return None if self.recorder is None else self._watched_by(EpisodeLog(self._source(version), self._put))

    def _watched_by(self, log: EpisodeLog) -> EpisodeLog:
        self.logs.append(log)
        return log

    def _source(self, policy: str, part: str = "") -> EpisodeSource:
        return EpisodeSource(source_of(self.folder), policy, monday_before(_begun_at(self.folder)), part)

    def _put(self, make: Callable[[], Mapping[TableName, pa.Table]], rows: int) -> None:
        if self.recorder is not None:  # a watcher may outlive the recorder
            self.recorder.put_later(make, rows)


def source_of(folder: PhaseFolder) -> str:
    """What stored rows call an attempt at a phase: the run's id, with the number of the attempt after the first."""
    return folder.run_id if folder.attempt == 1 else f"{folder.run_id}/{folder.attempt}"


def _reason(problem: BaseException) -> str:
    """Name the error that ended an episode; Ctrl-C and the like have no message."""
    return f"{type(problem).__name__}: {problem}"[:_REASON_CHARACTERS].removesuffix(": ")


def _close(recorder: EpisodeRecorder) -> None:
    try:
        figures = recorder.close()
    except GaelpError as problem:
        _log.warning("episodes are not in the store yet", problem=str(problem))
    else:
        _log.debug("episodes stored", rows=figures.stored, waited_seconds=round(figures.waited_seconds, 2))


def _begun_at(folder: PhaseFolder) -> datetime:
    """When the run was begun, the same for every process that works on it: rows keep their day."""
    if folder.run.record.exists():
        return read_record(folder.run).begun_at
    return datetime.fromtimestamp(folder.identity.stat().st_mtime, UTC)
