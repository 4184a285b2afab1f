from typing import get_args

from gaelp.phases.data_job import JobName, run_directly
from gaelp.phases.data_jobs import JOBS


def test_every_name_has_a_job():
    assert set(get_args(JobName)) == JOBS.keys()


def test_a_job_is_run_by_its_name_with_what_it_is_given(monkeypatch):
    monkeypatch.setitem(JOBS, "data-quality", lambda job: {"given": job})
    assert run_directly("data-quality", "job") == {"given": "job"}
