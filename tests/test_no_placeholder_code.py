"""No fallback, simplified, mock or dummy implementation in what is shipped; `make check` runs this alone.

Words are looked for in names, comments, docstrings and messages. What may be there is in placeholder_words.yaml, each
with its reason. A function whose body is empty is found whatever its words are.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
TREES = ("gaelp", "flows", "tasks", "beam_pipelines")
ALLOWED = ROOT / "tests" / "placeholder_words.yaml"

WORDS = re.compile(
    r"\b(?:fall(?:s|ing)?[ -]?backs?|simplif(?:y|ies|ied|ying|ication)|mock(?:s|ed|up)?|dumm(?:y|ies)|stub(?:s|bed)?"
    r"|place ?holders?|fake[sd]?|hard[ -]?coded|not implemented(?: error)?|toy (?:version|implementation)|for now,"
    r"|fixme|hack)\b",
    re.IGNORECASE,
)
_JOINTS = re.compile(r"_|(?<=[a-z0-9])(?=[A-Z])")


def sources(root: Path) -> Iterator[Path]:
    """Every Python file of the shipped trees."""
    for tree in TREES:
        yield from sorted((root / tree).rglob("*.py"))


def words_in(root: Path, allowed: list[dict[str, str]]) -> Iterator[str]:
    """Each line that speaks of an unfinished implementation and is not allowed to, then each entry nobody needs."""
    needed = set()
    for path in sources(root):
        where = path.relative_to(root).as_posix()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            # Names come apart: dummy_price and MockPlatform are found like words.
            if not (found := WORDS.search(_JOINTS.sub(" ", line))):
                continue
            reasons = [place for place, entry in enumerate(allowed) if entry["file"] == where and entry["text"] in line]
            needed.update(reasons)
            if not reasons:
                seen = f"{where}:{number}: {found[0]!r} in {line.strip()!r}"
                yield f"{seen}: write the real thing, or give a reason in {ALLOWED.name}"
    for place in sorted(set(range(len(allowed))) - needed):
        yield f"{ALLOWED.name}: no line of {allowed[place]['file']} holds {allowed[place]['text']!r}: remove the entry"


def empty_bodies(root: Path) -> Iterator[str]:
    """Each function that does nothing at all and is not part of a protocol, an overload or an abstract class."""
    for path in sources(root):
        where = path.relative_to(root).as_posix()
        for owner, function in _functions(ast.parse(path.read_text(encoding="utf-8"))):
            if _does_nothing(function) and not _is_declaration(owner, function):
                seen = f"{where}:{function.lineno}: {function.name} does nothing"
                yield f"{seen}: implement it, say why in its docstring, or remove it"


def _functions(tree: ast.AST, owner: ast.AST | None = None) -> Iterator[tuple[ast.AST | None, ast.FunctionDef]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield owner, node
        yield from _functions(node, node if isinstance(node, ast.ClassDef) else owner)


def _does_nothing(function: ast.FunctionDef) -> bool:
    """A body of pass or ...; a docstring alone says why there is nothing to do."""
    body = [node for node in function.body if not _is_text(node)]
    return bool(body) and all(_is_empty(node) for node in body)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _is_empty(node: ast.stmt) -> bool:
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def _is_declaration(owner: ast.AST | None, function: ast.FunctionDef) -> bool:
    decorators = {ast.unparse(one).split("(")[0].split(".")[-1] for one in function.decorator_list}
    bases = {ast.unparse(one).split("[")[0].split(".")[-1] for one in getattr(owner, "bases", [])}
    return bool(decorators & {"overload", "abstractmethod"} or bases & {"Protocol"})


# What is shipped


def test_no_word_of_an_unfinished_implementation_is_shipped():
    assert list(words_in(ROOT, yaml.safe_load(ALLOWED.read_text(encoding="utf-8")))) == []


def test_every_allowed_word_has_a_reason():
    for entry in yaml.safe_load(ALLOWED.read_text(encoding="utf-8")):
        assert entry.keys() == {"file", "text", "why"}
        assert len(entry["why"].split()) >= 4


def test_no_function_that_does_nothing_is_shipped():
    assert list(empty_bodies(ROOT)) == []


# Planted breaches


def planted(root: Path, code: str, tree: str = "gaelp") -> Path:
    folder = root / tree / "market"
    folder.mkdir(parents=True)
    (folder / "planted.py").write_text(code, encoding="utf-8")
    return root


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize(
    "code",
    [
        "def dummy_price():\n    return 1\n",
        "class MockPlatform:\n    name = 'x'\n",
        "x = 1  # a fallback where the market is not there\n",
        "x = 1  # falls back to zero\n",
        '"""A simplified auction."""\n',
        "raise ValueError('not implemented')\n",
        "raise NotImplementedError\n",
        "PLACEHOLDER_BID = 3\n",
        "def stub(): return 0\n",
        "x = 1  # hard-coded until the model is there\n",
    ],
)
def test_a_planted_word_is_reported_with_its_place(tmp_path, code, tree):
    [breach] = words_in(planted(tmp_path, code, tree), [])
    assert breach.startswith(f"{tree}/market/planted.py:1: ")


@pytest.mark.parametrize(
    "code", ["stubborn = 1\n", "x = 'mockingbird'\n", "simple = 'simplest'\n", "back = 'fallen'\n"]
)
def test_words_that_only_begin_alike_are_no_breach(tmp_path, code):
    assert list(words_in(planted(tmp_path, code), [])) == []


def test_an_allowed_word_is_no_breach_and_an_entry_without_a_line_is(tmp_path):
    entry = {"file": "gaelp/market/planted.py", "text": "no mock is sent", "why": "says what is not sent"}
    assert list(words_in(planted(tmp_path, "x = 'no mock is sent'\n"), [entry])) == []
    [stale, breach] = sorted(words_in(tmp_path, [entry | {"text": "no mocks"}]), reverse=True)
    assert "remove the entry" in stale
    assert "planted.py:1" in breach


@pytest.mark.parametrize("body", ["pass", "..."])
def test_a_function_that_does_nothing_is_reported(tmp_path, body):
    [breach] = empty_bodies(planted(tmp_path, f"class A:\n    def price(self):\n        {body}\n"))
    assert "price does nothing" in breach


@pytest.mark.parametrize(
    "code",
    [
        "class A(Protocol):\n    def price(self): ...\n",
        "@overload\ndef price(x: int) -> int: ...\n",
        "class A:\n    @abstractmethod\n    def price(self): ...\n",
        'def begin():\n    """Nothing is remembered."""\n',
    ],
)
def test_a_declaration_and_a_function_that_says_why_it_does_nothing_are_fine(tmp_path, code):
    assert list(empty_bodies(planted(tmp_path, code))) == []
