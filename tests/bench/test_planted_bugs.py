"""The lists of bugs to plant fit the source, and a bug counts as caught only if a test says so."""

import importlib.util
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("bench_planted_bugs", ROOT / "bench" / "planted_bugs.py")
bench = sys.modules["bench_planted_bugs"] = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(bench)

LISTS = {part: bench.load(part) for part in bench.parts()}
BUGS = [pytest.param(bug, id=f"{part}: {bug.name}") for part, bugs in LISTS.items() for bug in bugs]


def test_every_list_is_read():
    assert set(LISTS) == {"approvals", "content", "database", "gates", "guarded", "ledger", "mandate", "rules"}
    assert min(map(len, LISTS.values())) >= 5
    assert sum(map(len, LISTS.values())) > 100


@pytest.mark.parametrize("bug", BUGS)
def test_each_text_stands_once_in_its_file_and_each_test_exists(bug):
    source = (ROOT / bug.file).read_text(encoding="utf-8")
    for find, replacement in bug.changes:
        assert source.count(find) == 1, find
        assert find != replacement
    assert bench.planted(source, bug) != source
    for named in bug.tests:
        path, _, test = named.partition("::")
        assert (f"def {test}(" if test else "def test_") in (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("part", sorted(LISTS))
def test_each_bug_of_a_list_has_a_name_of_its_own(part):
    assert [name for name, count in Counter(bug.name for bug in LISTS[part]).items() if count > 1] == []


BUG = bench.Bug("a bug", "gaelp/money.py", (("a", "b"),), ("tests/test_money.py",), "")


@pytest.mark.parametrize(
    ("noticed", "hangs", "caught", "verdict"),
    [
        ("tests/x.py::test_y", False, True, "caught by tests/x.py::test_y"),
        ("tests/x.py::test_y", True, True, "caught by tests/x.py::test_y"),
        (None, False, False, "NOT CAUGHT"),
        (None, True, False, "NOT CAUGHT"),
        (bench.NO_ANSWER, False, False, "no answer within 120 s, NOT CAUGHT"),
        (bench.NO_ANSWER, True, True, "no answer within 120 s, as it should be: caught"),
    ],
)
def test_no_answer_is_a_catch_only_for_a_bug_that_hangs(noticed, hangs, caught, verdict):
    assert bench.judged(replace(BUG, hangs=hangs), noticed) == (caught, verdict)


def test_tests_that_do_not_end_give_no_answer(monkeypatch, tmp_path):
    def hang(command, **options):
        raise subprocess.TimeoutExpired(command, options["timeout"])

    monkeypatch.setattr(bench.subprocess, "run", hang)
    assert bench.failing(tmp_path, BUG) == bench.NO_ANSWER


def test_a_list_in_yaml_says_which_bugs_hang(tmp_path):
    row = "{name: n, file: f, find: a, replace: b, tests: [t]"
    (tmp_path / "list.yaml").write_text(f"- {row}}}\n- {row}, hangs: true}}\n")
    assert [bug.hangs for bug in bench._from_yaml(tmp_path / "list.yaml")] == [False, True]
