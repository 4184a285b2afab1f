"""A job runs as a process of its own: progress and report are read, and a failure says what the job said."""

import sys

import pytest

import gaelp.jobs.pipeline_process as module
from gaelp.errors import BadInput, GaelpError
from gaelp.jobs.pipeline_process import run_pipeline

SCRIPT = """
import json, sys
print("some library says hello")
print(json.dumps({"progress": {"job": "j", "done": 1, "total": 2}}))
if sys.argv[-2] == "fail":
    sys.exit("no such day")
if sys.argv[-2] == "bad":
    print("--first_day: not a date", file=sys.stderr)
    sys.exit(2)
if sys.argv[-2] != "silent":
    print(json.dumps({"report": {"words": sys.argv[1:]}}))
"""


@pytest.fixture(autouse=True)
def script(tmp_path, monkeypatch):
    """A Python that runs our script, whatever module it is given."""
    (tmp_path / "job.py").write_text(SCRIPT)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nshift 2\nexec {sys.executable} {tmp_path}/job.py "$@"\n')
    python.chmod(0o700)
    monkeypatch.setattr(module.sys, "executable", str(python))


def test_progress_and_report_are_read_among_other_lines():
    shown = []
    report = run_pipeline("j", ["--output", "x"], lambda done, total: shown.append((done, total)))
    assert report == {"words": ["--output", "x", "--json_lines"]}
    assert shown == [(1, 2)]


def test_a_failure_says_what_the_job_said():
    with pytest.raises(GaelpError, match="the job j ended with 1: no such day"):
        run_pipeline("j", ["fail"])
    with pytest.raises(BadInput, match="not a date"):
        run_pipeline("j", ["bad"])


def test_a_job_without_a_report_has_failed():
    with pytest.raises(GaelpError, match="ended with 0"):
        run_pipeline("j", ["silent"])
