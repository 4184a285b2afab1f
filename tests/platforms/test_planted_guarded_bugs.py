"""The list of bugs to plant in the door to money fits the source: each text stands once, each test exists."""

from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
BUGS = yaml.safe_load((ROOT / "bench" / "planted_bugs" / "guarded.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug["name"])
def test_a_bug_can_be_planted_and_its_tests_exist(bug):
    source = (ROOT / bug["file"]).read_text(encoding="utf-8")
    for change in (bug, *bug.get("also", [])):
        assert source.count(change["find"]) == 1
        assert change["find"] != change["replace"]
    assert all((ROOT / path).is_file() for path in bug["tests"])


def test_the_names_are_unique():
    assert len({bug["name"] for bug in BUGS}) == len(BUGS)
