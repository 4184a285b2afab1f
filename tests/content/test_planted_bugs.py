"""The list of bugs to plant stays applicable: each text stands once in its file, each named test exists."""

import importlib.util
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

_spec = importlib.util.spec_from_file_location("content_planted_bugs", HERE / "planted_bugs.py")
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)


@pytest.mark.parametrize("bug", _module.PLANTED_BUGS, ids=lambda bug: bug.name)
def test_a_bug_can_be_planted_and_its_test_exists(bug):
    assert (ROOT / bug.file).read_text(encoding="utf-8").count(bug.old) == 1
    assert bug.old != bug.new
    path, name = bug.test.split("::")
    assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")


def test_the_names_are_unique():
    names = [bug.name for bug in _module.PLANTED_BUGS]
    assert len(set(names)) == len(names)
