"""The list of bugs to plant is up to date: each text stands once in its file, and each test exists."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("planted_rule_bugs", Path(__file__).with_name("planted_rule_bugs.py"))
LIST = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(LIST)


@pytest.mark.parametrize("bug", LIST.PLANTED, ids=lambda bug: bug.name)
def test_a_bug_can_be_planted_and_its_test_exists(bug):
    assert (ROOT / bug.file).read_text(encoding="utf-8").count(bug.old) == 1
    file, test = bug.test.split("::")
    assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8")


def test_there_are_enough_bugs_and_each_has_a_name_of_its_own():
    assert len({bug.name for bug in LIST.PLANTED}) == len(LIST.PLANTED) >= 5
