"""Killed (-9) anywhere, a training resumes and ends bit for bit like one that was not, whatever the algorithm."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ALGORITHMS = ["ppo", "a2c", "dqn", "qr_dqn", "sac", "td3"]
# Where the one run of each algorithm is killed, one after the other, and the round it can resume from; -1: its start.
KILLS = [
    ["before_the_first_checkpoint", -1],
    ["in_a_round", 1],
    ["in_validation", 1],
    ["in_writing", 2],
    ["before_the_rename", 2],
    ["after_the_rename", 3],
    ["in_a_round", 4],
]


def run_killer(*arguments):
    command = [sys.executable, str(Path(__file__).with_name("training_killer.py")), *map(str, arguments)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


@pytest.fixture(scope="module")
def killed_at_points(tmp_path_factory):
    """All algorithms in one process, since starting it takes longer than they do."""
    return run_killer("points", tmp_path_factory.mktemp("killed"))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_kill_at_any_point_of_a_round_does_not_change_a_bit(killed_at_points, algorithm):
    answer = killed_at_points["killed"][algorithm]
    assert [[point, rounds] for point, _, rounds, _ in answer["left"]] == KILLS
    assert all(killed for _, killed, _, _ in answer["left"])
    whole = answer["whole"] | {"-1": ""}
    assert [saved for _, _, _, saved in answer["left"]] == [whole[str(rounds)] for _, rounds in KILLS]
    final = [saved for _, name, _, saved in killed_at_points["finished"] if name == algorithm]
    assert final == [whole["6"]]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_twenty_kills_at_random_moments_do_not_change_a_bit(tmp_path, algorithm):
    answer = run_killer("random", tmp_path, algorithm)
    hits, whole = answer["killed"]["hits"], answer["killed"]["whole"] | {"-1": ""}
    assert sum(hits) == 20  # of running trainings; a kill that came too late is not among them
    assert hits[-1] > 0  # the run that the fresh process finishes was killed too
    left = answer["killed"]["left"]
    assert len({rounds for rounds, _ in left}) > 3  # they did not all hit the same place
    assert [saved for _, saved in left] == [whole[str(rounds)] for rounds, _ in left]
    assert [saved for *_, saved in answer["finished"]] == [whole["12"]] * len(hits)
