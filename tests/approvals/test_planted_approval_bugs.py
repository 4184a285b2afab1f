"""The list of bugs to plant is in step with the source: each text stands once, each test exists."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUGS = runpy.run_path(str(Path(__file__).with_name("planted_bugs.py")))["PLANTED_BUGS"]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_planted_bug_has_its_place_and_its_test(bug):
    path, _, test = bug.test.partition("::")
    assert (ROOT / bug.file).read_text(encoding="utf-8").count(bug.old) == 1
    assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8")
    assert bug.new != bug.old
