"""A job run from the command line prints its report, or why it failed, with the exit code of the error."""

import json
import subprocess
import sys

import pytest

import beam_pipelines.running as module
from beam_pipelines.episode_metrics import run


def test_progress_is_printed_for_programs(job_words, tmp_path, capsys):
    run([*job_words["episode_metrics"], "--output", str(tmp_path), "--json_lines"])
    lines = [json.loads(line)["progress"] for line in capsys.readouterr().out.splitlines()]
    assert (lines[0]["done"], lines[-1]["done"], lines[-1]["total"]) == (0, 2, 2)


def test_a_known_error_is_a_line_and_an_exit_code(monkeypatch, capsys, tmp_path):
    words = ["episode_metrics", "--decisions", f"{tmp_path}/*.parquet", "--output", str(tmp_path)]
    monkeypatch.setattr(module.sys, "argv", words)
    assert module.main("episode_metrics") == 2
    assert "no file matches" in capsys.readouterr().err


@pytest.mark.slow
def test_the_module_is_a_command(tmp_path):
    command = [sys.executable, "-m", "beam_pipelines.attribution", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "--as_of" in done.stdout
