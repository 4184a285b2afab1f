import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def left_behind(tmp_path_factory):
    """What processes left behind that were killed (-9) while they saved; the killer looks at each folder itself."""
    killer = Path(__file__).with_name("checkpoint_killer.py")
    command = [sys.executable, str(killer), str(tmp_path_factory.mktemp("killed"))]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def test_killed_at_any_line_of_a_save_a_folder_has_the_old_checkpoint_or_the_new_one(left_behind):
    counts = left_behind["line"]
    assert counts["kills"] > 50
    assert counts["left_drafts"] > 5  # some were in the middle of writing
    assert counts["old_left"] > 20
    assert counts["new_left"] > 20


def test_killed_at_random_times_a_folder_has_every_checkpoint_that_was_reported_or_a_newer_one(left_behind):
    counts = left_behind["time"]
    assert counts["kills"] == 30
    assert counts["left_drafts"] > 0
    assert counts["saves"] > 0
