"""Run a job: plan its shards, run a pipeline for each group of them, show progress, and report."""

import importlib
import json
import logging
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from pydantic import Field

from beam_pipelines.options import JobOptions
from beam_pipelines.sharded_job import (
    ComputeShards,
    ShardedJob,
    ShardRun,
    names_of_marks,
    plan_job,
    remove_other_splits,
    unfinished_shards,
)
from gaelp.config.base import Frozen
from gaelp.errors import GaelpError
from gaelp.jobs.peak_memory import peak_memory_mb

__all__ = ["JobReport", "build_pipeline", "main", "run_job"]

OnProgress = Callable[[int, int], None]

_SECONDS_BETWEEN_LOOKS = 1.0


class JobReport(Frozen):
    """What a job did."""

    job: str
    output: str
    shards: int
    computed: int
    skipped: int = Field(description="shards that were finished before")
    counters: dict[str, int]
    seconds: float
    cpu_seconds: float = Field(description="of the process that started it")
    peak_mb: float = Field(description="the most memory that this process has used")


def run_job(job: ShardedJob, options: JobOptions, for_beam: Sequence[str]) -> JobReport:
    """Compute every shard that is not finished."""
    began, cpu_began = time.perf_counter(), time.process_time()
    remove_other_splits(options)
    plan = plan_job(job, options)
    counters: Counter[str] = Counter()
    done = len(plan.finished)
    show = _printed(job.name) if options.json_lines else _ignored
    show(done, plan.shards)
    for run in plan.runs:
        with _watched(options.output, run, partial(_add, show, done, plan.shards)):
            counters.update(_run_pipeline(job, run, options, for_beam))
        done += len(run.shards)
        show(done, plan.shards)
    return JobReport(
        job=job.name,
        output=options.output,
        shards=plan.shards,
        computed=plan.shards - len(plan.finished),
        skipped=len(plan.finished),
        counters=dict(sorted(counters.items())),
        seconds=round(time.perf_counter() - began, 3),
        cpu_seconds=round(time.process_time() - cpu_began, 3),
        peak_mb=round(peak_memory_mb(), 1),
    )


def build_pipeline(job: ShardedJob, run: ShardRun, options: JobOptions, for_beam: Sequence[str]) -> beam.Pipeline:
    """The pipeline of some shards, not started."""
    pipeline = beam.Pipeline(options=PipelineOptions(list(for_beam)))
    _ = pipeline | job.name >> ComputeShards(job, run, options)
    return pipeline


def main(job: str) -> int:
    """Run a job for the command line: print its report; on a known error print why, and return its exit code.

    The module is imported by its own name, so that workers can import its functions.
    """
    logging.getLogger("apache_beam").setLevel(logging.ERROR)
    try:
        report: Frozen = importlib.import_module(f"beam_pipelines.{job}").run()
    except GaelpError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    content = report.model_dump(mode="json")
    is_for_programs = "--json_lines" in sys.argv
    sys.stdout.write(json.dumps({"report": content}) if is_for_programs else json.dumps(content, indent=1))
    sys.stdout.write("\n")
    return 0


def _run_pipeline(job: ShardedJob, run: ShardRun, options: JobOptions, for_beam: Sequence[str]) -> dict[str, int]:
    result = build_pipeline(job, run, options, for_beam).run()
    state = result.wait_until_finish()
    missing = unfinished_shards(options.output, run)
    if str(state) not in ("DONE", "None") or missing:
        raise GaelpError(f"the pipeline ended as {state} and {len(missing)} shards are not finished: see its log")
    counted = result.metrics().query()["counters"]
    return {
        str(each.key.metric.name): int(each.committed or 0) for each in counted if each.key.metric.namespace == "gaelp"
    }


@contextmanager
def _watched(output: str, run: ShardRun, show: Callable[[int], None]) -> Iterator[None]:
    """Show how many shards of a run are finished while it runs, on any runner: by their marks."""
    ended = threading.Event()

    began = time.time()

    def look() -> None:
        while not ended.wait(_SECONDS_BETWEEN_LOOKS):
            show(len(set(run.shards) & names_of_marks(output, since=began)))

    watcher = threading.Thread(target=look, name="job-progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _printed(job: str) -> OnProgress:
    def show(done: int, total: int) -> None:
        sys.stdout.write(json.dumps({"progress": {"job": job, "done": done, "total": total}}) + "\n")
        sys.stdout.flush()

    return show


def _add(show: OnProgress, before: int, total: int, finished: int) -> None:
    show(before + finished, total)


def _ignored(_done: int, _total: int) -> None:
    return
