"""Plants bugs one by one in a copy of the source, runs the tests that should notice, and prints which of them did.

    python bench/planted_bugs.py                    every list
    python bench/planted_bugs.py guarded ledger     some of them

A bug is data: a file, a text that occurs in it exactly once, what replaces it (`also` names further places of
the same file), the tests to run, and in `select` which of them, as for `pytest -k`. Tests that do not end say "no
answer", which counts as caught only for a bug with `hangs: true`: otherwise a slow machine would catch everything. To
cover another part, add a YAML file to bench/planted_bugs/. Some parts keep their list beside their tests, as tuples of
Python. Exits 1 if a bug goes unnoticed.
"""

import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
BUGS = Path(__file__).with_suffix("")
BESIDE_TESTS = {
    "approvals": "tests/approvals/planted_bugs.py",
    "content": "tests/content/planted_bugs.py",
    "rules": "tests/budget/planted_rule_bugs.py",
}
COPIED = ("gaelp", "tests", "configs", "deploy", "pyproject.toml")
TEST_SECONDS = 120
NO_ANSWER = f"no answer within {TEST_SECONDS} s"
FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True)
class Bug:
    """One bug: where it goes, and who should notice."""

    name: str
    file: str
    changes: tuple[tuple[str, str], ...]
    tests: tuple[str, ...]
    select: str
    hangs: bool = False  # no answer is how this bug shows


def parts() -> list[str]:
    """Every list there is."""
    return sorted({*BESIDE_TESTS, *(path.stem for path in BUGS.glob("*.yaml"))})


def load(part: str) -> list[Bug]:
    """The bugs of one list."""
    if part not in parts():
        raise SystemExit(f"there is no list {part!r}: choose from {', '.join(parts())}")
    return _from_python(ROOT / BESIDE_TESTS[part]) if part in BESIDE_TESTS else _from_yaml(BUGS / f"{part}.yaml")


def _from_python(path: Path) -> list[Bug]:
    names = runpy.run_path(str(path))
    rows = names["PLANTED_BUGS"] if "PLANTED_BUGS" in names else names["PLANTED"]
    return [Bug(row.name, row.file, ((row.old, row.new),), (row.test,), "") for row in rows]


def _from_yaml(path: Path) -> list[Bug]:
    rows: list[dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return [
        Bug(
            row["name"],
            row["file"],
            tuple((change["find"], change["replace"]) for change in (row, *row.get("also", []))),
            tuple(row["tests"]),
            row.get("select", ""),
            row.get("hangs", False),
        )
        for row in rows
    ]


def planted(text: str, bug: Bug) -> str:
    """The source with the bug in it."""
    for find, replace in bug.changes:
        if text.count(find) != 1:
            raise SystemExit(
                f"{bug.name}: {bug.file} holds {find!r} {text.count(find)} times, not once: correct the list"
            )
        text = text.replace(find, replace)
    return text


def noticed_by(copy: Path, bug: Bug) -> str | None:
    """The first test that fails with the bug in place; nothing if all of them pass."""
    file = copy / bug.file
    whole = file.read_text(encoding="utf-8")
    file.write_text(planted(whole, bug), encoding="utf-8")
    try:
        return failing(copy, bug)
    finally:
        file.write_text(whole, encoding="utf-8")


def failing(copy: Path, bug: Bug) -> str | None:
    """The first of the tests for a bug that fails in this copy as it is."""
    options = ["-q", "-x", "--tb=no", "-p", "no:cacheprovider", "-p", "pytest_timeout", "-k", bug.select]
    command = [sys.executable, "-m", "pytest", *options, *bug.tests]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # loading them takes longer than most of the tests
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, timeout=TEST_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return NO_ANSWER
    if done.returncode == 0:
        return None
    failure = FAILED.search(done.stdout)
    if failure is None:
        raise SystemExit(f"{bug.name}: pytest ended with {done.returncode}: {done.stdout[-500:]} {done.stderr[-500:]}")
    return failure[1]


def check_whole(copy: Path, bugs: list[Bug]) -> None:
    """Check that the tests pass without a bug: otherwise their failures prove nothing."""
    for bug in {(bug.tests, bug.select): bug for bug in bugs}.values():
        if test := failing(copy, bug):
            raise SystemExit(f"{test} fails without any bug: fix that first")


def judged(bug: Bug, noticed: str | None) -> tuple[bool, str]:
    """Whether a bug was caught, and the verdict in words."""
    if noticed == NO_ANSWER:
        return bug.hangs, f"{NO_ANSWER}, {'as it should be: caught' if bug.hangs else 'NOT CAUGHT'}"
    return noticed is not None, f"caught by {noticed}" if noticed else "NOT CAUGHT"


def main(chosen: list[str]) -> int:
    """Plant every bug of the chosen lists; the number that nobody noticed decides the exit code."""
    bugs = [bug for part in chosen or parts() for bug in load(part)]
    for bug in bugs:
        planted((ROOT / bug.file).read_text(encoding="utf-8"), bug)  # an outdated list fails at once
    missed = 0
    with tempfile.TemporaryDirectory(prefix="gaelp-planted-") as name:
        copy = Path(name)
        for part in COPIED:
            source = ROOT / part
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, copy / part, ignore=ignore) if source.is_dir() else shutil.copy(source, copy / part)
        check_whole(copy, bugs)
        for number, bug in enumerate(bugs, start=1):
            began = time.monotonic()
            caught, verdict = judged(bug, noticed_by(copy, bug))
            missed += not caught
            sys.stdout.write(f"{number:3d} {bug.name}: {verdict} ({time.monotonic() - began:.0f} s)\n")
            sys.stdout.flush()
    sys.stdout.write(f"{len(bugs) - missed} of {len(bugs)} planted bugs were caught\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
