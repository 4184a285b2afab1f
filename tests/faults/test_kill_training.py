"""Killed (-9) at 20 random moments, training goes on and ends with the same bits, whatever the algorithm."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.timeout(600)
@pytest.mark.parametrize("algorithm", ["ppo", "a2c", "dqn", "qr_dqn", "sac", "td3"])
def test_twenty_kills_do_not_change_a_bit_of_the_final_parameters(tmp_path, algorithm):
    killer = Path(__file__).with_name("training_killer.py")
    command = [sys.executable, str(killer), algorithm, str(tmp_path), "20"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert answer.returncode == 0, answer.stderr
    seen = json.loads(answer.stdout)
    assert sum(seen["hits"]) == 20  # of running trainings; a kill that came too late is not among them
    assert seen["hits"][-1] > 0  # what the fresh process went on with was killed too
    assert len(set(seen["rounds"])) > 3  # they did not all hit the same place
    assert seen["resumed"] == [seen["whole"]] * len(seen["hits"])  # not the last run alone
