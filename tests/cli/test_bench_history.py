import json

import pytest
from typer.testing import CliRunner

from gaelp.cli.main import app

ARGUMENTS = ["bench", "history", "--rows", "20000", "--rowwise-rows", "2000", "--replicates", "10"]


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("GAELP_HOME", str(tmp_path))


def test_the_figures_come_as_one_json_object_with_the_documented_keys(home):
    result = CliRunner().invoke(app, [*ARGUMENTS, "--json"])
    assert result.exit_code == 0
    figures = json.loads(result.stdout)
    assert {"speedup_over_rowwise", "seconds", "peak_mb", "growth"} <= figures.keys()
    assert figures["speedup_over_rowwise"] > 1


def test_without_json_a_table_and_a_sentence_are_printed(home):
    result = CliRunner().invoke(app, ARGUMENTS)
    assert result.exit_code == 0
    assert "19,968" in result.stdout
    assert "times as fast as row by row" in result.stderr
