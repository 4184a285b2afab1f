"""The shape that all jobs share: read tables, prepare them, gather them by shard, finish each shard and write it.

A shard is a day and a hash of the campaign, or only the hash for jobs that need a campaign's whole history. Its results
are written first and its mark in OUTPUT/_done last, so a job that was killed computes again only what it had not
finished. The mark holds a fingerprint of the input files and settings: a shard whose input changed is computed again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc
from apache_beam.metrics.metric import Metrics
from apache_beam.pvalue import PBegin, PCollection
from pydantic import Field

from beam_pipelines.options import JobOptions
from beam_pipelines.table_files import (
    find_files,
    find_times,
    pack_table,
    read_json,
    read_tables,
    remove_files,
    unpack_tables,
    write_json,
    write_table,
)
from gaelp.config.base import Frozen
from gaelp.jobs.shards import ALL_DAYS, InputFile, Shard, days_of, fingerprint, split_into_shards
from gaelp.storage.schema import TableName

__all__ = [
    "ComputeShards",
    "JobInput",
    "JobPlan",
    "ShardRun",
    "ShardedJob",
    "finished_marks",
    "names_of_marks",
    "plan_job",
    "remove_other_splits",
    "unfinished_shards",
]

DEAD = "dead_letters"
_CLOCKS_DIFFER_S = 60.0  # between this machine and the one that keeps the files
Tables = Mapping[str, pa.Table]


@dataclass(frozen=True)
class JobInput:
    """A stored table that a job reads: the pattern of its files, and the columns it needs (None: all)."""

    table: TableName
    pattern: str
    columns: tuple[str, ...] | None = None


@dataclass(frozen=True)
class ShardedJob:
    """A job: what it reads, and two functions. `steps` are the labels of the functions in the pipeline.

    `prepare` makes named tables of a table that was read; each has the column `day` or `at`, and `campaign`. `finish`
    makes the results of a shard, by name, of all its prepared tables. `dead_letters` are rows that could not be used.
    """

    name: str
    version: int
    steps: tuple[str, str]
    inputs: tuple[JobInput, ...]
    prepare: Callable[[TableName, pa.Table], Tables]
    finish: Callable[[Mapping[str, list[pa.Table]]], Tables]
    by_day: bool
    settings: Mapping[str, object]


class ShardRun(Frozen):
    """The shards of one pipeline with the fingerprint of each, and the files that they are computed from."""

    shards: dict[str, str]
    days: tuple[str, ...] = Field(description="of the shards; empty for those of all days")
    groups: tuple[tuple[str, tuple[str, ...]], ...] = Field(description="tables with the files to read together")


class JobPlan(Frozen):
    """What there is to do: pipelines to run one after the other, and the shards that are finished."""

    runs: tuple[ShardRun, ...]
    finished: tuple[str, ...]
    rows: int = Field(description="rows of all input files")

    @property
    def shards(self) -> int:
        """How many shards there are, finished or not."""
        return len(self.finished) + sum(len(run.shards) for run in self.runs)


def plan_job(job: ShardedJob, options: JobOptions) -> JobPlan:
    """Find the input and compare it with what is finished."""
    files = [file for each in job.inputs for file in find_files(each.table, each.pattern, each.columns)]
    days = [day for day in days_of(files) if _is_wanted(day, options)]
    of_day = {day.isoformat(): [file for file in files if file.covers(day)] for day in days}
    if not job.by_day:
        chosen = [file for file in files if any(file.covers(day) for day in days)]
        of_day = {ALL_DAYS: chosen} if chosen else {}
    settings = {**job.settings, "campaign_shards": options.campaign_shards, "version": job.version}
    if not job.by_day:
        settings |= {"first_day": options.first_day, "last_day": options.last_day}
    prints = {
        Shard(day, part): fingerprint(job.name, settings, inputs)
        for day, inputs in of_day.items()
        for part in range(options.campaign_shards)
    }
    marks = finished_marks(options.output)
    finished = [shard for shard, mark in prints.items() if marks.get(shard.name) == mark]
    pending = {shard: mark for shard, mark in prints.items() if shard not in set(finished)}
    return JobPlan(
        runs=tuple(_runs(pending, of_day, options)),
        finished=tuple(shard.name for shard in finished),
        rows=sum(file.rows for file in {file.path: file for inputs in of_day.values() for file in inputs}.values()),
    )


def finished_marks(output: str) -> dict[str, str]:
    """The fingerprint of each finished shard."""
    marks = read_json(f"{output}/_done/*.json")
    return {_name_of(path): str(mark["fingerprint"]) for path, mark in marks.items()}


def unfinished_shards(output: str, run: ShardRun) -> list[str]:
    """The shards of a run whose mark is missing or is of another input."""
    marks = {name: read_json(f"{output}/_done/{name}.json") for name in run.shards}
    return [
        name
        for name, documents in marks.items()
        if [document["fingerprint"] for document in documents.values()] != [run.shards[name]]
    ]


def names_of_marks(output: str, since: float) -> set[str]:
    """The shards that were finished after an instant (seconds since 1970); no mark is read."""
    marks = find_times(f"{output}/_done/*.json")
    return {_name_of(path) for path, modified in marks.items() if modified >= since - _CLOCKS_DIFFER_S}


def remove_other_splits(options: JobOptions) -> None:
    """Remove results of an earlier run with another --campaign_shards: their rows would count twice."""
    for path, mark in read_json(f"{options.output}/_done/*.json").items():
        rows = mark["rows"]
        if mark["campaign_shards"] != options.campaign_shards and isinstance(rows, dict):
            name = _name_of(path)
            remove_files([path, *(f"{options.output}/{kind}/{name}.parquet" for kind in rows)])


def _name_of(mark: str) -> str:
    return mark.rsplit("/", 1)[-1].removesuffix(".json")


def _is_wanted(day: date, options: JobOptions) -> bool:
    return (options.first_day is None or options.first_day <= day) and (
        options.last_day is None or day <= options.last_day
    )


def _runs(
    pending: Mapping[Shard, str], of_day: Mapping[str, Sequence[InputFile]], options: JobOptions
) -> Iterator[ShardRun]:
    """Join shards to pipelines that read at most `rows_per_run` rows, if a single shard does not have more."""
    batch: dict[Shard, str] = {}
    rows = 0.0
    for shard, mark in pending.items():
        share = sum(file.rows / _days_within(file) for file in of_day[shard.day]) / options.campaign_shards
        if batch and rows + share > options.rows_per_run:
            yield _run(batch, of_day, options)
            batch, rows = {}, 0.0
        batch[shard], rows = mark, rows + share
    if batch:
        yield _run(batch, of_day, options)


def _days_within(file: InputFile) -> int:
    if file.first_day is None or file.last_day is None:
        return 1
    return (file.last_day - file.first_day).days + 1


def _run(batch: Mapping[Shard, str], of_day: Mapping[str, Sequence[InputFile]], options: JobOptions) -> ShardRun:
    days = sorted({shard.day for shard in batch})
    files = sorted({file.path: file for day in days for file in of_day[day]}.values())
    return ShardRun(
        shards={shard.name: mark for shard, mark in batch.items()},
        days=tuple(day for day in days if day != ALL_DAYS),
        groups=tuple(_groups(files, options.rows_per_table)),
    )


def _groups(files: Iterable[InputFile], rows: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Files of a table that are read together, so that small ones become tables of so many rows."""
    paths: list[str] = []
    table, count = "", 0
    for file in files:
        if paths and (file.table != table or count + file.rows > rows):
            yield table, tuple(paths)
            paths, count = [], 0
        table, count = file.table, count + file.rows
        paths.append(file.path)
    if paths:
        yield table, tuple(paths)


class ComputeShards(beam.PTransform[PBegin, PCollection[str]]):
    """Pipeline -> for each shard of a run, its results as files and its mark; yields the names of finished shards."""

    def __init__(self, job: ShardedJob, run: ShardRun, options: JobOptions) -> None:
        super().__init__()
        self._job, self._run, self._options = job, run, options

    def expand(self, begin: PBegin) -> PCollection[str]:
        """Wire the functions of the job."""
        prepare, finish = self._job.steps
        packed = (
            begin
            | "Start" >> beam.Impulse()
            | "ListFiles" >> beam.ParDo(_Emit(self._run.groups))
            | "SpreadOverWorkers" >> beam.Reshuffle()
            | "ReadTables" >> beam.ParDo(_ReadTables(self._job, self._options.rows_per_table))
            | prepare >> beam.ParDo(_Prepare(self._job, self._run, self._options))
        )
        shards = [(name, b"") for name in self._run.shards]
        empty = (
            begin
            | "StartShards" >> beam.Impulse()
            | "ListShards" >> beam.ParDo(_Emit(shards)).with_output_types(tuple[str, bytes])
        )
        finished: PCollection[str] = (
            (packed, empty)
            | "WithEmptyShards" >> beam.Flatten()
            | "GatherByShard" >> beam.GroupByKey()
            | finish >> beam.ParDo(_Finish(self._job, self._run, self._options))
        )
        return finished


class _Emit(beam.DoFn):
    """Elements that are known at the start; Beam's own `Create` is no standard transform."""

    def __init__(self, elements: Iterable[object]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._elements = list(elements)

    def process(self, _: bytes, *__: Any) -> Iterator[Any]:
        """The impulse -> the elements."""
        yield from self._elements


class _ReadTables(beam.DoFn):
    def __init__(self, job: ShardedJob, rows: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._columns = {each.table.value: each.columns for each in job.inputs}
        self._rows = rows
        self._read, self._files = Metrics.counter("gaelp", "rows_read"), Metrics.counter("gaelp", "files_read")

    def process(self, group: tuple[str, Sequence[str]], *_: Any) -> Iterator[tuple[str, str, pa.Table]]:
        """Files -> tables of many rows."""
        table, paths = group
        for order, rows in read_tables(TableName(table), list(paths), self._columns[table], self._rows):
            self._read.inc(rows.num_rows)
            yield table, order, rows
        self._files.inc(len(paths))


class _Prepare(beam.DoFn):
    def __init__(self, job: ShardedJob, run: ShardRun, options: JobOptions) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._job, self._parts = job, options.campaign_shards
        self._first, self._last = options.first_day, options.last_day
        self._shards, self._days = frozenset(run.shards), frozenset(run.days) or None

    def process(self, element: tuple[str, str, pa.Table], *_: Any) -> Iterator[tuple[str, bytes]]:
        """A table -> its prepared tables, packed by shard."""
        name, order, rows = element
        for kind, table in self._job.prepare(TableName(name), self._within(rows)).items():
            parts = split_into_shards(table, parts=self._parts, days=self._days, by_day=self._job.by_day)
            for shard, of_shard in parts:
                if shard.name in self._shards:
                    yield shard.name, pack_table(kind, order, of_shard)

    def _within(self, rows: pa.Table) -> pa.Table:
        """The rows of the wanted days; jobs by day drop the others by their shard."""
        if self._job.by_day or (self._first is None and self._last is None):
            return rows
        days = rows.column("at").cast(pa.date32())
        first, last = self._first or date.min, self._last or date.max
        return rows.filter(pc.and_(pc.greater_equal(days, first), pc.less_equal(days, last)))


class _Finish(beam.DoFn):
    def __init__(self, job: ShardedJob, run: ShardRun, options: JobOptions) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._job, self._marks = job, dict(run.shards)
        self._output, self._parts = options.output.rstrip("/"), options.campaign_shards
        self._written, self._dead = Metrics.counter("gaelp", "rows_written"), Metrics.counter("gaelp", "dead_letters")
        self._finished = Metrics.counter("gaelp", "shards_finished")

    def process(self, element: tuple[str, Iterable[bytes]], *_: Any) -> Iterator[str]:
        """The packed tables of a shard -> its files, then its mark."""
        name, packed = element
        mark = f"{self._output}/_done/{name}.json"
        remove_files([mark])
        results = self._job.finish(unpack_tables(content for content in packed if content))
        for kind, table in results.items():
            path = f"{self._output}/{kind}/{name}.parquet"
            if table.num_rows or kind != DEAD:
                write_table(path, table)
            else:
                remove_files([path])
            (self._dead if kind == DEAD else self._written).inc(table.num_rows)
        rows = {kind: table.num_rows for kind, table in results.items()}
        write_json(mark, {"fingerprint": self._marks[name], "campaign_shards": self._parts, "rows": rows})
        self._finished.inc()
        yield name
