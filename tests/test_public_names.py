"""What each module of gaelp/ offers: `__all__` is there, sorted, complete and true."""

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


# __main__ is run, never imported.
FILES = {module_name(path): path for path in sorted((ROOT / "gaelp").rglob("*.py")) if path.stem != "__main__"}
PACKAGES = {name: path for name, path in FILES.items() if path.stem == "__init__"}


def body(source: str) -> list[ast.stmt]:
    """The statements of a module below its docstring."""
    tree = ast.parse(source)
    return tree.body[1:] if ast.get_docstring(tree, clean=False) is not None else tree.body


def offered(source: str) -> list[str] | None:
    """The names in `__all__`; nothing where a module has none."""
    for node in body(source):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id="__all__")], value=value)
                | ast.AnnAssign(target=ast.Name(id="__all__"), value=ast.expr() as value)
            ):
                return list(ast.literal_eval(value))
    return None


def defined(source: str) -> set[str]:
    """The public classes and functions a module defines itself, also below an `if` or `try`."""
    found: set[str] = set()
    waiting: list[ast.AST] = list(body(source))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.If | ast.Try | ast.With | ast.ExceptHandler):
            waiting.extend(ast.iter_child_nodes(node))
    return {name for name in found if not name.startswith("_")}


def by_kind(name: str) -> tuple[int, list[str | int]]:
    """The order the linter keeps too: constants, then classes, then the rest; numbers count as numbers."""
    kind = 0 if len(name) > 1 and name.isupper() else 1 if name[0].isupper() else 2
    return kind, [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def faults(source: str, *, is_package: bool = False, is_private: bool = False) -> list[str]:
    """What is wrong with the public names of one module, as far as its text tells."""
    names = offered(source)
    if names is None:
        return ["has no __all__"] if body(source) and not is_private else []
    found = []
    if names != sorted(names, key=by_kind):
        found.append(f"__all__ is not sorted: {sorted(names, key=by_kind)} is")
    if len(names) != len(set(names)):
        found.append("__all__ holds a name twice")
    if missing := sorted(defined(source) - set(names)):
        found.append(f"__all__ lacks {missing}: add them, or begin their names with an underscore")
    if is_package:
        found += [f"line {node.lineno} does more than re-export" for node in body(source) if not reexports(node)]
    return found


def reexports(node: ast.stmt) -> bool:
    """Whether a statement only passes names on: an import, or a constant with a dunder name."""
    match node:
        case ast.Import() | ast.ImportFrom():
            return True
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant() | ast.List() | ast.Tuple()):
            return name.startswith("__")
    return False


@pytest.mark.parametrize("name", FILES)
def test_a_module_offers_its_public_names_in_order(name: str) -> None:
    source = FILES[name].read_text(encoding="utf-8")
    is_private = FILES[name].stem.startswith("_") and name not in PACKAGES
    found = faults(source, is_package=name in PACKAGES, is_private=is_private)
    assert not found, f"{name}: " + "; ".join(found)


@pytest.mark.parametrize("name", FILES)
def test_every_name_a_module_offers_exists(name: str) -> None:
    module = importlib.import_module(name)
    absent = [offer for offer in getattr(module, "__all__", []) if not hasattr(module, offer)]
    assert not absent, f"{name}.__all__ names what does not exist: {absent}"


CLASS_AND_FUNCTION = "class Bid: ...\ndef act(): ...\ndef _hidden(): ...\n"


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        (CLASS_AND_FUNCTION, "has no __all__"),
        ("__all__ = ['act', 'Bid']\n" + CLASS_AND_FUNCTION, "not sorted"),
        ("__all__ = ['Bid', 'HOURS', 'act']\n" + CLASS_AND_FUNCTION, "not sorted"),
        ("__all__ = ['Bid', 'Bid', 'act']\n" + CLASS_AND_FUNCTION, "twice"),
        ("__all__ = ['Bid']\n" + CLASS_AND_FUNCTION, "lacks ['act']"),
        ("__all__ = []\nif True:\n    def act(): ...\n", "lacks ['act']"),
    ],
)
def test_a_planted_fault_is_seen(source: str, seen: str) -> None:
    [found] = faults('"""New."""\n' + source)
    assert seen in found


def test_a_package_that_does_more_than_re_export_is_seen() -> None:
    source = '"""New."""\nfrom os import path\n__all__ = ["path"]\n'
    assert faults(source + "path.exists('/')\n", is_package=True) == ["line 4 does more than re-export"]
    assert faults(source + '__version__ = "1"\n', is_package=True) == []


@pytest.mark.parametrize("source", ['"""New."""\n', "__all__ = ['HOURS', 'Bid', 'Bid2', 'Bid10', 'act']\n"])
def test_a_module_with_nothing_to_say_or_everything_in_order_has_no_fault(source: str) -> None:
    assert faults(source) == []
