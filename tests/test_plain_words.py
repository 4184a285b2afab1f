"""The code and its documents use the words of the field: none of the phrases that readers had to decode.

Words are looked for in code, comments, docstrings, messages and documents; tests may use them.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CODE = ("gaelp", "flows", "tasks", "beam_pipelines", "bench")
TEXT = ("docs", "configs", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "Makefile", "prefect.yaml")

PHRASES = re.compile(
    r"\b(?:goes on|go on|going on|told|tells|mend(?:s|ed|ing)?|anew|comes of|stands?|at hand|comes by|at any price"
    r"|the same bits|is over one day|a time that can be)\b",
    re.IGNORECASE,
)
EMPTY_NAMES = frozenset({"found", "one", "seen", "told"})
# Names in files that earlier versions wrote, or in JSON that scripts read: they stay as they are.
KEPT = ("told: tuple[_StoredSentAlert", "told=tuple(", "in self.told", '"stands": state')
RIDDLES = frozenset({"stop_words", "own_words", "own_thread", "stop_ends", "standing_up", "turns", "sheet"})


def files(root: Path, places: tuple[str, ...], suffixes: frozenset[str]) -> Iterator[Path]:
    """The files below each place, or the place itself."""
    for place in (root / name for name in places):
        paths = sorted(place.rglob("*")) if place.is_dir() else [place]
        yield from (path for path in paths if path.is_file() and path.suffix in suffixes and ".peers" not in path.parts)


def phrases_in(text: str) -> Iterator[str]:
    """Each line that holds one of the phrases."""
    for number, line in enumerate(text.splitlines(), 1):
        if any(kept in line for kept in KEPT):
            continue
        for match in PHRASES.finditer(line):
            yield f"{number}: {match[0]!r} in {line.strip()!r}"


def empty_names_in(source: str) -> Iterator[str]:
    """Each variable or parameter whose name does not say what it holds."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) if name in EMPTY_NAMES:
                if any(kept in source.splitlines()[node.lineno - 1] for kept in KEPT):
                    continue
                yield f"{node.lineno}: {name!r}: name it after what it holds"


def public_types(source: str) -> Iterator[str]:
    """The public classes of a module, and its type aliases except type variables."""
    for node in ast.parse(source).body:
        match node:
            case ast.ClassDef(name=name):
                pass
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if isinstance(value, ast.Call) or not name[0].isupper() or (len(name) > 1 and name.isupper()):
                    continue
            case ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Name(id="TypeAlias")):
                pass
            case _:
                continue
        if not name.startswith("_"):
            yield name


@pytest.mark.parametrize("places", [CODE, TEXT], ids=["code", "documents"])
def test_no_phrase_needs_a_second_reading(places):
    suffixes = frozenset({".py", ".md", ".yaml", ""})
    hits = [
        f"{path.relative_to(ROOT)}:{hit}"
        for path in files(ROOT, places, suffixes)
        for hit in phrases_in(path.read_text(encoding="utf-8"))
    ]
    assert not hits, "\n".join(hits)


def test_variables_are_named_after_what_they_hold():
    hits = [
        f"{path.relative_to(ROOT)}:{hit}"
        for path in files(ROOT, CODE, frozenset({".py"}))
        for hit in empty_names_in(path.read_text(encoding="utf-8"))
    ]
    assert not hits, "\n".join(hits)


def test_no_file_has_a_name_that_must_be_guessed():
    assert not [path for path in files(ROOT, CODE, frozenset({".py"})) if path.stem in RIDDLES]


def test_a_public_class_name_has_one_meaning():
    homes = defaultdict(set)
    for path in files(ROOT, ("gaelp", "flows", "tasks", "beam_pipelines"), frozenset({".py"})):
        if path.stem != "__init__":
            for name in public_types(path.read_text(encoding="utf-8")):
                homes[name].add(path.relative_to(ROOT).as_posix())
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


@pytest.mark.parametrize("line", ["Training goes on.", "it is told in the log", "Mended.", "begin anew"])
def test_a_planted_phrase_is_reported(line):
    assert list(phrases_in(f"first\n{line}\n"))


@pytest.mark.parametrize("source", ["found = 1", "for one in (): pass", "def f(told): pass", "(seen := 1)"])
def test_a_planted_name_is_reported(source):
    assert list(empty_names_in(source))


def test_classes_and_aliases_count_as_public_types_and_type_variables_do_not():
    source = 'class A: ...\nB = dict[str, int]\nC: TypeAlias = A\nT = TypeVar("T")\nLIMIT = 3\n_D = int\n'
    assert list(public_types(source)) == ["A", "B", "C"]
