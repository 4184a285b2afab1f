"""The dependency rules and the shape of the code, read from the source: nothing is imported, so nothing can hide.

Each rule takes the root of a tree and yields what breaks it, as `path:line: what was seen, and the way out`.
"""

import ast
import re
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# The order in which data flows: a package of gaelp/ imports only what stands in a line above its own.
LAYERS = (
    ("__init__", "arrays", "clock", "errors", "money", "types"),
    ("config",),
    ("database",),
    ("observability",),
    ("checks",),
    ("storage",),
    ("importing",),
    ("quality",),
    ("market",),
    ("experience",),
    ("agents",),
    ("training",),
    ("gates",),
    ("budget",),
    ("approvals",),
    ("authority",),
    ("registry",),
    ("history",),
    ("content",),
    ("platforms",),
    ("jobs",),
    ("sandbox",),
    ("bootstrap",),
    ("guard_bootstrap",),
    ("pilot",),
    ("release",),
    ("feedback",),
    ("phases",),
    ("export",),
    ("home_backup",),
    ("api",),
    ("gateway",),
    ("bench",),
    ("cli",),
    ("__main__",),
)
LAYER_OF = {name: depth for depth, names in enumerate(LAYERS) for name in names}

# flows -> tasks -> gaelp <- beam_pipelines: each tree, and the others it may import.
TREES = {"flows": {"tasks", "gaelp"}, "tasks": {"gaelp"}, "beam_pipelines": {"gaelp"}, "gaelp": set()}
OURS = {*TREES, "bench", "tests"}

FRAMEWORKS = {"prefect", "prefect_ray", "apache_beam"}
CONFIG_READERS = {"configparser", "dotenv", "pydantic_settings", "ruamel", "tomllib", "yaml"}
DRIVERS = frozenset({"psycopg", "psycopg2", "sqlite3"})
ANALYTICS_DRIVERS = ("duckdb", "google.cloud")
KNOWN_TO_SANDBOX = {
    f"gaelp.{name}"
    for name in ("arrays", "clock", "config", "database", "errors", "importing", "market", "money", "observability")
} | {"gaelp.sandbox", "gaelp.storage", "gaelp.types"}
SHARED_WITH_MARKET = ("gaelp.market.compiled", "gaelp.market.random")  # how loops are compiled and draw numbers
ENVIRONMENT = {"environ", "environb", "getenv", "getenvb"}
VAGUE_NAMES = {"common", "core", "helpers", "utils"}

MAX_MODULE_LINES = 400
MAX_BODY_LINES = 60
MAX_README_LINES = 10
MAX_INNER_IMPORTS = 29  # 189 before commands were lazy; a new one needs a better reason than the worst of these


# Reading a tree


@cache
def _parsed(path: Path, _modified_ns: int) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def parse(path: Path) -> ast.Module:
    """The syntax tree of a file, parsed once for all the rules."""
    return _parsed(path, path.stat().st_mtime_ns)


def modules(root: Path, *trees: str) -> Iterator[tuple[Path, str]]:
    """Each Python file below the named trees, with its path relative to the root."""
    for tree in trees:
        for path in sorted((root / tree).rglob("*.py")):
            if not any(part.startswith(".") for part in path.relative_to(root).parts):
                yield path, path.relative_to(root).as_posix()


def imports(path: Path, where: str) -> Iterator[tuple[int, str]]:
    """Line and dotted target of each import, at any depth, relative ones resolved, `import_module("x")` included."""
    package = where.removesuffix(".py").split("/")[:-1]
    for node in ast.walk(parse(path)):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                base = package[: len(package) - level + 1] if level else []
                start = ".".join([*base, *([module] if module else [])])
                yield from ((node.lineno, f"{start}.{alias.name}") for alias in names)
            case ast.Call(func=ast.Attribute(attr="import_module"), args=[ast.Constant(value=str(target)), *_]):
                yield node.lineno, target
            case ast.Call(func=ast.Name(id="import_module" | "__import__"), args=[ast.Constant(value=str(target)), *_]):
                yield node.lineno, target


# Dependency rules


def frameworks_inside_gaelp(root: Path) -> Iterator[str]:
    """gaelp/ knows neither Prefect nor Beam."""
    for path, where in modules(root, "gaelp"):
        for line, target in imports(path, where):
            if target.split(".")[0] in FRAMEWORKS:
                yield f"{where}:{line}: gaelp/ imports {target}; its place is tasks/, flows/ or beam_pipelines/"


def arrows_between_trees(root: Path) -> Iterator[str]:
    """flows -> tasks -> gaelp <- beam_pipelines, and no other arrow."""
    for tree, allowed in TREES.items():
        for path, where in modules(root, tree):
            for line, target in imports(path, where):
                other = target.split(".")[0]
                if other in OURS - allowed - {tree}:
                    may = ", ".join(sorted(allowed)) or "none of the other trees"
                    yield f"{where}:{line}: {tree}/ imports {target}; it may import {may}"


def upward_imports(root: Path) -> Iterator[str]:
    """Inside gaelp/, a package imports only packages above it in LAYERS, and each has its place there."""
    for path, where in modules(root, "gaelp"):
        own = where.removesuffix(".py").split("/")[1]
        if own not in LAYER_OF:
            yield f"{where}:1: gaelp/{own} has no place in LAYERS; add it there and to the tree in ARCHITECTURE.md"
            continue
        for line, target in imports(path, where):
            other = target.split(".")[1] if target.startswith("gaelp.") else None
            if other in LAYER_OF and other != own and LAYER_OF[other] >= max(LAYER_OF[own], 1):
                yield f"{where}:{line}: gaelp/{own} imports {target}, which stands below it; see LAYERS for the order"


def what_the_sandbox_knows(root: Path) -> Iterator[str]:
    """Nothing in the sandbox knows of agents, nor of the market's rules: its own are others, on purpose."""
    for path, where in modules(root, "gaelp/sandbox"):
        for line, target in imports(path, where):
            package = ".".join(target.split(".")[:2])
            of_market = package == "gaelp.market" and not target.startswith(SHARED_WITH_MARKET)
            if target.startswith("gaelp.") and (package not in KNOWN_TO_SANDBOX or of_market):
                yield f"{where}:{line}: the sandbox imports {target}; it must not know of agents nor the market's rules"


def environment_outside_config(root: Path) -> Iterator[str]:
    """Only gaelp/config reads the environment or configuration files."""
    for path, where in modules(root, "gaelp"):
        if where.startswith("gaelp/config/"):
            continue
        yield from (f"{where}:{line}: {what}; let gaelp.config read it" for line, what in _outside_reads(path, where))


def _outside_reads(path: Path, where: str) -> Iterator[tuple[int, str]]:
    names = {"os"}
    for node in ast.walk(parse(path)):
        match node:
            case ast.Import(names=aliases):
                names |= {alias.asname for alias in aliases if alias.name == "os" and alias.asname}
            case ast.Attribute(value=ast.Name(id=owner), attr=attr) if owner in names and attr in ENVIRONMENT:
                yield node.lineno, f"reads the environment (os.{attr})"
            case ast.keyword(arg="envvar"):
                yield node.value.lineno, "reads the environment (envvar=)"
    for line, target in imports(path, where):
        first, *rest = target.split(".")
        if first == "os" and rest and rest[0] in ENVIRONMENT:
            yield line, f"reads the environment ({target})"
        if first in CONFIG_READERS:
            yield line, f"reads configuration files (imports {first})"


def drivers_outside_database(root: Path) -> Iterator[str]:
    """Only gaelp/database talks to a database's driver or makes an engine; only gaelp/storage uses DuckDB, BigQuery."""
    for path, where in modules(root, *TREES):
        for line, target in imports(path, where):
            driver = target.split(".")[0] in DRIVERS or target == "sqlalchemy.create_engine"
            if driver and not where.startswith("gaelp/database/"):
                yield f"{where}:{line}: imports {target}; let gaelp.database connect"
            analytics = f"{target}.".startswith(tuple(f"{name}." for name in ANALYTICS_DRIVERS))
            if analytics and not where.startswith("gaelp/storage/"):
                yield f"{where}:{line}: imports {target}; let gaelp.storage connect"


def inner_imports(root: Path) -> Iterator[str]:
    """Imports are at the top of their file; the few inside a function each give their reason (ruff asks for it)."""
    inner = [
        f"{where}:{line}: imports {target} inside a function"
        for path, where in modules(root, "flows", "gaelp", "tasks")
        for line, target in _imports_in_functions(path)
    ]
    if len(inner) > MAX_INNER_IMPORTS:
        yield from (f"{seen}; {len(inner)} in all, {MAX_INNER_IMPORTS} allowed: move one to the top" for seen in inner)


def _imports_in_functions(path: Path) -> Iterator[tuple[int, str]]:
    seen = set()
    for function in ast.walk(parse(path)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Import | ast.ImportFrom) and node.lineno not in seen:
                    seen.add(node.lineno)
                    yield node.lineno, node.module or "" if isinstance(node, ast.ImportFrom) else node.names[0].name


# Shape


def long_modules(root: Path) -> Iterator[str]:
    """No module outside the tests passes 400 lines."""
    for path, where in modules(root, *TREES, "bench"):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > MAX_MODULE_LINES:
            yield f"{where}:1: {lines} lines, the limit is {MAX_MODULE_LINES}; it does more than one job, so split it"


def long_functions(root: Path) -> Iterator[str]:
    """No function body passes 60 lines, its docstring not counted."""
    for path, where in modules(root, *TREES, "bench"):
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
                lines = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
                if lines > MAX_BODY_LINES:
                    yield f"{where}:{node.lineno}: {node.name} has {lines} lines, the limit is {MAX_BODY_LINES}"


def modules_without_docstring(root: Path) -> Iterator[str]:
    """Each module says in its first line what its one job is."""
    for path, where in modules(root, *TREES, "bench"):
        if not (ast.get_docstring(parse(path)) or "").strip():
            yield f"{where}:1: no docstring; its first line says what the module does"


def vague_names(root: Path) -> Iterator[str]:
    """No utils, helpers, common or core: a name says what is inside."""
    for _, where in modules(root, *TREES, "bench"):
        for part in where.removesuffix(".py").split("/"):
            if part.strip("_") in VAGUE_NAMES or part.endswith(("_utils", "_helpers")):
                yield f"{where}:1: the name {part} says nothing; name it after what it does"


def package_readmes(root: Path) -> Iterator[str]:
    """Each package below gaelp/ has a README of at most ten lines."""
    for folder in sorted({path.parent for path, _ in modules(root, "gaelp")} - {root / "gaelp"}):
        readme = folder / "README.md"
        where = readme.relative_to(root).as_posix()
        if not readme.is_file():
            yield f"{where}:1: missing; say what the package owns, what it may import, where to start reading"
            continue
        lines = sum(1 for line in readme.read_text(encoding="utf-8").splitlines() if line.strip())
        if not 0 < lines <= MAX_README_LINES:
            yield f"{where}:1: {lines} lines, between 1 and {MAX_README_LINES} are wanted"


def refused_words(root: Path) -> Iterator[str]:
    """One word, one meaning: experience is collected and an agent released, so `rollout` is not used."""
    refused = re.compile("rollout", re.IGNORECASE)
    for path in sorted((root / "gaelp").rglob("*")):
        if path.suffix in {".md", ".py", ".yaml"}:
            for line, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
                if word := refused.search(text):
                    yield f"{path.relative_to(root).as_posix()}:{line}: {word[0]}; say collect or release"


RULES: tuple[Callable[[Path], Iterator[str]], ...] = (
    frameworks_inside_gaelp,
    arrows_between_trees,
    upward_imports,
    what_the_sandbox_knows,
    environment_outside_config,
    drivers_outside_database,
    inner_imports,
    long_modules,
    long_functions,
    modules_without_docstring,
    vague_names,
    package_readmes,
    refused_words,
)


def violations(root: Path) -> list[str]:
    """Everything in a tree that breaks a rule."""
    return [found for rule in RULES for found in rule(root)]


# The tree as it stands


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_tree_keeps_the_rule(rule: Callable[[Path], Iterator[str]]) -> None:
    found = list(rule(ROOT))
    assert not found, f"{rule.__doc__}\n" + "\n".join(found)


def test_the_rules_have_code_to_look_at() -> None:
    assert {where for _, where in modules(ROOT, "gaelp")} >= {"gaelp/__init__.py", "gaelp/errors.py"}


def drawn_packages() -> list[tuple[bool, list[str]]]:
    """Each line of the tree of gaelp/ in ARCHITECTURE.md: whether it is marked as existing, and the names in it."""
    drawn = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split("\ngaelp/\n")[1].split("\n```")[0]
    return [(line.startswith("+ "), line[2:].split("   ")[0].split()) for line in drawn.splitlines()]


def test_the_tree_in_the_architecture_document_has_the_order_that_is_checked() -> None:
    named = [sorted(name.removesuffix("/").removesuffix(".py") for name in names) for _, names in drawn_packages()]
    checked = [[name for name in layer if not name.startswith("__")] for layer in LAYERS]
    assert named == [layer for layer in checked if layer]


def test_the_tree_in_the_architecture_document_marks_what_exists() -> None:
    assert [
        names for exists, names in drawn_packages() if exists != all((ROOT / "gaelp" / n).exists() for n in names)
    ] == []


# Planted faults: each rule sees its own


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small tree that keeps every rule."""
    for package in ("gaelp", "gaelp/config", "gaelp/market", "gaelp/training"):
        (tmp_path / package).mkdir()
        plant(tmp_path, f"{package}/__init__.py", '"""A package."""\n')
        plant(tmp_path, f"{package}/README.md", "# A package\n\nIt owns something.\n")
    plant(tmp_path, "gaelp/config/reader.py", '"""Reads."""\n\nimport os\n\nimport yaml\n\nHOME = os.environ["HOME"]\n')
    plant(
        tmp_path,
        "gaelp/market/step.py",
        '"""Steps."""\n\nfrom gaelp.config.reader import HOME\nfrom gaelp import errors\n',
    )
    plant(tmp_path, "gaelp/errors.py", '"""Errors."""\n')
    plant(tmp_path, "gaelp/money.py", '"""Money."""\n\nfrom gaelp.errors import MoneyError\n')
    plant(tmp_path, "tasks/train.py", '"""A task."""\n\nfrom prefect import task\n\nfrom gaelp.market import step\n')
    plant(tmp_path, "flows/simulation.py", '"""A flow."""\n\nfrom prefect import flow\n\nfrom tasks import train\n')
    plant(tmp_path, "beam_pipelines/clean.py", '"""A pipeline."""\n\nimport apache_beam\n\nimport gaelp.market\n')
    return tmp_path


def plant(root: Path, where: str, text: str) -> None:
    (root / where).parent.mkdir(parents=True, exist_ok=True)
    (root / where).write_text(text, encoding="utf-8")


def function_of(lines: int) -> str:
    return "def long():\n" + '    """Said in\n\n    three lines."""\n' + "    x = 1\n" * lines


def test_a_tree_that_keeps_the_rules_has_no_violations(tree: Path) -> None:
    assert violations(tree) == []


@pytest.mark.parametrize(
    ("where", "line", "text", "seen"),
    [
        ("gaelp/market/new.py", 2, "import prefect", "imports prefect"),
        ("gaelp/market/new.py", 3, "def act():\n    from prefect import flow", "imports prefect.flow"),
        ("gaelp/market/new.py", 2, "import apache_beam as beam", "imports apache_beam"),
        ("gaelp/market/new.py", 3, "try:\n    import prefect.tasks\nexcept ImportError:\n    pass", "prefect.tasks"),
        ("gaelp/market/new.py", 3, "import importlib\nimportlib.import_module('prefect')", "imports prefect"),
        ("gaelp/market/new.py", 2, "__import__('apache_beam.io')", "imports apache_beam.io"),
        ("gaelp/new.py", 1, "", "no place in LAYERS"),
        ("gaelp/novel/new.py", 1, "", "no place in LAYERS"),
        ("gaelp/market/new.py", 2, "from gaelp.training import loop", "stands below it"),
        ("gaelp/market/new.py", 2, "from gaelp import training", "stands below it"),
        ("gaelp/market/new.py", 2, "from .. import training", "stands below it"),
        ("gaelp/market/new.py", 2, "from ..training.loop import train", "stands below it"),
        ("gaelp/market/deep/new.py", 2, "from ...training import loop", "stands below it"),
        ("gaelp/config/new.py", 2, "import gaelp.cli.main", "stands below it"),
        ("gaelp/types.py", 2, "from gaelp.config import base", "stands below it"),
        ("gaelp/__init__.py", 2, "from gaelp.market import step", "stands below it"),
        ("gaelp/sandbox/new.py", 2, "from gaelp.agents import catalog", "must not know of agents"),
        ("gaelp/sandbox/new.py", 2, "from gaelp.market.auction import clear", "must not know of agents"),
        ("gaelp/market/new.py", 2, "import tasks.train", "none of the other trees"),
        ("gaelp/market/new.py", 2, "from tests.market import cases", "none of the other trees"),
        ("tasks/new.py", 2, "from flows.simulation import simulate", "may import gaelp"),
        ("beam_pipelines/new.py", 2, "import tasks", "may import gaelp"),
        ("flows/new.py", 2, "import beam_pipelines.clean", "may import gaelp, tasks"),
        ("gaelp/market/new.py", 3, "import os\nHOME = os.environ['HOME']", "os.environ"),
        ("gaelp/market/new.py", 3, "import os as system\nHOME = system.getenv('HOME')", "os.getenv"),
        ("gaelp/market/new.py", 2, "from os import environ as settings", "os.environ"),
        ("gaelp/cli/new.py", 2, "HOME = option(envvar='GAELP_HOME')", "envvar="),
        ("gaelp/market/new.py", 3, "def load():\n    import yaml", "imports yaml"),
        ("gaelp/market/new.py", 2, "import sqlite3", "let gaelp.database connect"),
        ("flows/new.py", 3, "def load():\n    from psycopg import connect", "let gaelp.database connect"),
        ("gaelp/cli/new.py", 2, "from sqlalchemy import create_engine", "let gaelp.database connect"),
        ("gaelp/market/new.py", 2, "import duckdb", "let gaelp.storage connect"),
        ("gaelp/database/new.py", 2, "import duckdb", "let gaelp.storage connect"),
        ("beam_pipelines/new.py", 2, "from google.cloud import bigquery", "let gaelp.storage connect"),
        ("gaelp/market/new.py", 1, "x = 1\n" * 400, "401 lines, the limit is 400"),
        ("bench/new.py", 1, "x = 1\n" * 400, "401 lines, the limit is 400"),
        ("gaelp/market/new.py", 2, function_of(61), "long has 61 lines, the limit is 60"),
        ("gaelp/market/utils.py", 1, "", "the name utils says nothing"),
        ("gaelp/market/_helpers.py", 1, "", "the name _helpers says nothing"),
        ("gaelp/market/common/new.py", 1, "", "the name common says nothing"),
        ("gaelp/market/price_utils.py", 1, "", "the name price_utils says nothing"),
        ("gaelp/market/new.py", 3, "x = 1\nRollouts = 2", "say collect or release"),
    ],
)
def test_a_planted_fault_is_seen_at_its_line(tree: Path, where: str, line: int, text: str, seen: str) -> None:
    plant(tree, where, '"""New."""\n' + text)
    plant(tree, f"{Path(where).parent}/README.md", "# A package\n")
    [found] = violations(tree)
    assert found.startswith(f"{where}:{line}: ")
    assert seen in found


def test_a_module_without_docstring_is_seen(tree: Path) -> None:
    plant(tree, "gaelp/market/new.py", "x = 1\n")
    assert violations(tree) == ["gaelp/market/new.py:1: no docstring; its first line says what the module does"]


@pytest.mark.parametrize(("text", "seen"), [(None, "missing"), ("\n", "0 lines"), ("line\n\n" * 11, "11 lines")])
def test_a_package_without_a_short_readme_is_seen(tree: Path, text: str | None, seen: str) -> None:
    readme = tree / "gaelp/market/README.md"
    readme.unlink() if text is None else readme.write_text(text, encoding="utf-8")
    [found] = violations(tree)
    assert found.startswith("gaelp/market/README.md:1: ")
    assert seen in found


def test_the_limits_themselves_are_allowed(tree: Path) -> None:
    plant(tree, "gaelp/market/new.py", '"""New."""\n' + function_of(60))
    plant(tree, "gaelp/market/other.py", '"""New."""\n' + "x = 1\n" * 399)
    plant(tree, "gaelp/market/README.md", "line\n\n" * 10)
    assert violations(tree) == []


def test_one_import_inside_a_function_too_many_is_seen(tree: Path) -> None:
    inner = "".join(f"def load_{number}():\n    import json\n" for number in range(MAX_INNER_IMPORTS))
    plant(tree, "gaelp/market/new.py", '"""New."""\n' + inner)
    assert violations(tree) == []
    plant(tree, "tasks/new.py", '"""New."""\n\n\ndef one_more():\n    from json import dumps\n')
    found = violations(tree)
    assert len(found) == MAX_INNER_IMPORTS + 1
    assert f"tasks/new.py:5: imports json inside a function; {MAX_INNER_IMPORTS + 1} in all" in found[-1]


def test_prefect_planted_in_any_module_of_the_real_tree_is_seen(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "gaelp", tmp_path / "gaelp", ignore=shutil.ignore_patterns("__pycache__"))
    planted = {}
    for path, where in modules(tmp_path, "gaelp"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text + "\nimport prefect\n", encoding="utf-8")
        planted[where] = len(text.splitlines()) + 2
    found = {seen.split(": ")[0] for seen in frameworks_inside_gaelp(tmp_path)}
    assert found == {f"{where}:{line}" for where, line in planted.items()}
