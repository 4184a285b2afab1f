import pytest

from gaelp.errors import BadInput, DataError
from gaelp.phases.trained_agents import trained_agents


def test_a_home_without_a_judged_run_is_refused_and_says_what_makes_one(tmp_path):
    with pytest.raises(BadInput, match=r"no runs/.*one or more wanted.*`gaelp train`"):
        trained_agents(tmp_path)


def test_a_file_that_is_no_result_is_named(tmp_path):
    broken = tmp_path / "runs" / "first" / "simulation" / "1" / "simulation.json"
    broken.parent.mkdir(parents=True)
    broken.write_text('{"run_id": "first"}', encoding="utf-8")
    with pytest.raises(DataError, match=r"first/simulation/1/simulation.json is no result.*move its run away"):
        trained_agents(tmp_path)
