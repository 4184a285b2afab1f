"""What all jobs share: shards, marks of finished ones, dead letters, standard transforms, and the portable API."""

import importlib
import json
import os

import pyarrow.parquet as pq
import pytest

from beam_pipelines.local_cluster import local_cluster
from beam_pipelines.options import parse_options
from beam_pipelines.running import build_pipeline
from beam_pipelines.sharded_job import plan_job
from beam_pipelines.table_files import find_files, read_tables
from gaelp.errors import DataError
from gaelp.jobs.budget_limits import load_budget_check
from gaelp.jobs.logged_dataset import BID_MOMENTS
from gaelp.storage.schema import TableName

JOBS = ("episode_metrics", "redact", "logged_dataset", "attribution", "budget_safety")
STANDARD = {
    "beam:transform:impulse:v1",
    "beam:transform:pardo:v1",
    "beam:transform:group_by_key:v1",
    "beam:transform:flatten:v1",
    "beam:transform:reshuffle:v1",
    "beam:transform:window_into:v1",
}


def test_a_finished_shard_is_not_computed_again(run_words, tmp_path):
    first = run_words("episode_metrics", tmp_path)
    again = run_words("episode_metrics", tmp_path)
    assert (first.computed, first.skipped, first.counters["rows_read"]) == (2, 0, 36_000)
    assert (again.computed, again.skipped, again.counters) == (0, 2, {})


def test_a_shard_without_its_mark_or_with_new_input_is_computed_again(run_words, tmp_path, stored):
    run_words("episode_metrics", tmp_path)
    (tmp_path / "_done/2026-01-01-000.json").unlink()
    assert run_words("episode_metrics", tmp_path).computed == 1
    source = stored / "decisions/day=2026-01-02/part.parquet"
    os.utime(source, (1, 1))
    assert run_words("episode_metrics", tmp_path).computed == 1


def test_splitting_by_campaign_gives_the_same_rows_and_leaves_nothing_of_another_split(run_words, tmp_path, results_of):
    whole = tmp_path / "whole"
    run_words("episode_metrics", whole)
    split = tmp_path / "split"
    run_words("episode_metrics", split, "--campaign_shards", "2", "--rows_per_table", "5000")
    report = run_words("episode_metrics", split, "--campaign_shards", "3", "--rows_per_run", "10000")
    assert report.shards == 6
    assert len(list((split / "metrics").iterdir())) == 6

    def rows(folder):
        every = [row for table in results_of(folder / "metrics").values() for row in table.to_pylist()]
        return sorted(every, key=lambda row: (row["day"], row["campaign"]))

    assert rows(split) == rows(whole)


def test_an_unreadable_file_is_named(run_words, tmp_path):
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 and then nothing")
    with pytest.raises(DataError, match=r"broken\.parquet is no readable Parquet file"):
        run_words("episode_metrics", tmp_path / "out", "--decisions", str(broken))


def test_a_file_of_another_table_is_refused(run_words, tmp_path, stored):
    with pytest.raises(DataError, match="is missing"):
        run_words("redact", tmp_path / "out", "--input", f"{stored}/clicks/**.parquet")


def test_small_files_are_read_as_large_tables(stored):
    files = find_files(TableName.DECISIONS, f"{stored}/decisions/**.parquet", None)
    assert [file.rows for file in files] == [33_600, 2_400]
    tables = read_tables(TableName.DECISIONS, [file.path for file in files], None, 250_000)
    assert [table.num_rows for _, table in tables] == [36_000]


@pytest.mark.parametrize("job", JOBS)
def test_the_exported_pipeline_has_standard_transforms_only(job, job_words, tmp_path):
    proto = exported(job, job_words, tmp_path)
    components = proto.components
    leaves = {
        transform.spec.urn
        for transform in components.transforms.values()
        if not transform.subtransforms and transform.spec.urn
    }
    assert leaves
    assert leaves <= STANDARD
    assert b"0123456789abcdef" not in proto.SerializeToString()  # the key of redact stays on the machine


def exported(job, job_words, output):
    module = importlib.import_module(f"beam_pipelines.{job}")
    model = next(value for name, value in vars(module).items() if name.endswith("Options") and name != "JobOptions")
    options, for_beam = parse_options(model, [*job_words[job], "--output", str(output)], job=job, about="")
    if job == "logged_dataset":
        planned = module.dataset_job(options, BID_MOMENTS.empty_table())
    elif job == "budget_safety":
        planned = module.budget_safety_job(options, load_budget_check(options.limits))
    else:
        planned = getattr(module, f"{job}_job")(options)
    return build_pipeline(planned, plan_job(planned, options).runs[0], options, for_beam).to_runner_api()


def test_the_portable_job_api_with_two_workers_gives_the_same_output(run_words, tmp_path, results_of):
    compare_on_cluster(("attribution",), run_words, tmp_path, results_of, processes=False)


@pytest.mark.slow
def test_every_job_gives_the_same_output_over_the_portable_job_api(run_words, tmp_path, results_of):
    compare_on_cluster(JOBS, run_words, tmp_path, results_of, processes=True)


def compare_on_cluster(jobs, run_words, tmp_path, results_of, *, processes):
    with local_cluster(workers=2, processes=processes) as for_beam:
        for job in jobs:
            run_words(job, tmp_path / "here" / job)
            report = run_words(job, tmp_path / "there" / job, *for_beam)
            assert report.computed == report.counters["shards_finished"]
    here, there = results_of(tmp_path / "here"), results_of(tmp_path / "there")
    assert here.keys() == there.keys()
    for name, table in here.items():
        assert table.equals(there[name]), name


def test_marks_say_what_a_shard_wrote(run_words, tmp_path):
    run_words("budget_safety", tmp_path)
    mark = json.loads((tmp_path / "_done/all-days-000.json").read_text())
    assert mark["rows"] == {"breaches": 0, "verdicts": 1, "campaign_days": 1, "dead_letters": 0}
    accounts = pq.read_table(tmp_path / "account_breaches/accounts.parquet").to_pylist()
    assert [(row["account"], row["value"]) for row in accounts] == [("acc", 9_600_000)]
