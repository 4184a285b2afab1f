"""The promises of the packaging: every requirement is pinned, the documents name what exists, the code is clean."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
UNPINNED = {"async-timeout", "whenever"}  # needed by other Python versions than the one tried: see constraints.txt
# PyPI's torch for Linux is the CUDA build and names the exact version of each of these itself; the CPU build has none.
CUDA = re.compile(r"nvidia-.+|cuda-.+|triton")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("gaelp/**/README.md")])


def pins() -> dict[str, Version]:
    """The pinned version of each package, by canonical name."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): Version(pin) for name, pin in pinned}


def requirements(extras: dict[str, list[str]]) -> list[Requirement]:
    """What pyproject.toml asks for: the dependencies, then those of each named extra."""
    return [
        Requirement(text) for text in [*PROJECT["dependencies"], *(text for group in extras.values() for text in group)]
    ]


def installed_closure() -> Iterator[str]:
    """Every installed package that the dependencies or the dev extra lead to."""
    waiting = requirements({"dev": PROJECT["optional-dependencies"]["dev"]})
    seen: set[tuple[str, str]] = set()
    while waiting:
        wanted = waiting.pop()
        for extra in ("", *sorted(wanted.extras)):
            key = (canonicalize_name(wanted.name), extra)
            if key in seen:
                continue
            seen.add(key)
            try:
                waiting += [
                    needed
                    for needed in map(Requirement, distribution(wanted.name).requires or [])
                    if needed.marker is None or needed.marker.evaluate({"extra": extra})
                ]
            except PackageNotFoundError:
                continue
            yield key[0]


@pytest.mark.parametrize("wanted", requirements(PROJECT["optional-dependencies"]), ids=lambda wanted: wanted.name)
def test_a_requirement_is_pinned_within_its_range(wanted: Requirement) -> None:
    assert wanted.specifier.contains(pins()[canonicalize_name(wanted.name)])


_real = distribution


def not_as_pinned() -> dict[str, Version]:
    """What is installed for GAELP in another version than the pinned one, or without a pin that it needs."""
    installed = {name: Version(distribution(name).version).public for name in installed_closure()}
    assert len(installed) > len(PROJECT["dependencies"])
    needs_pin = {
        name: Version(seen) for name, seen in installed.items() if not (name in UNPINNED or CUDA.fullmatch(name))
    }
    return {name: seen for name, seen in needs_pin.items() if pins().get(name) != seen}


def test_everything_installed_for_gaelp_has_the_pinned_version() -> None:
    assert not_as_pinned() == {}


@pytest.mark.parametrize(
    ("brought", "reported"),
    [
        (["nvidia-cublas==13.1.0.3", "cuda-bindings==13.0.3", "triton==3.7.0; platform_system == 'Linux'"], set()),
        (["nvidia-cublas==13.1.0.3", "brought-by-torch==1.0"], {"brought-by-torch"}),
    ],
    ids=["the CUDA build", "another package"],
)
def test_only_the_packages_of_torchs_cuda_build_need_no_pin(
    monkeypatch: pytest.MonkeyPatch, brought: list[str], reported: set[str]
) -> None:
    wanted = {Requirement(text).name: Requirement(text) for text in brought}

    def faked(name: str) -> SimpleNamespace:
        if name in wanted:
            [pin] = wanted[name].specifier
            return SimpleNamespace(requires=[], version=pin.version)
        real = _real(name)
        is_torch = canonicalize_name(name) == "torch"
        requires = [*(real.requires or []), *(brought if is_torch else [])]
        return SimpleNamespace(requires=requires, version="2.13.0+cu130" if is_torch else real.version)

    monkeypatch.setitem(globals(), "distribution", faked)
    assert set(not_as_pinned()) == reported


def test_pins_are_sorted_and_each_stands_once() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    names = [line.split("==")[0] for line in lines if line and not line.startswith("#")]
    assert names == sorted(set(names))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_link_in_a_document_leads_somewhere(document: Path) -> None:
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose)
    local = [target for target in targets if "://" not in target]
    assert [target for target in local if not (document.parent / target).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_make_target_named_in_a_document_exists(document: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(
        re.findall(r"`make ([a-z-]+)[^`]*`|^make ([a-z-]+)", document.read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert {first or second for first, second in named} <= targets


def test_every_place_the_architecture_document_sends_a_reader_to_exists() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split("## Where do I find")[1]
    rows = [row.split("|")[2] for row in text.splitlines() if row.startswith("| ")][1:]
    places = {row: re.findall(r"`([^`]*[./][^`]*|Makefile)`", row) for row in rows}
    arrived = {row: bool(named) and all((ROOT / place).exists() for place in named) for row, named in places.items()}
    assert [row for row in rows if arrived[row] == ("*(to come)*" in row)] == []


@pytest.mark.parametrize(
    "arguments",
    [["format", "--check", "--quiet"], ["check", "--quiet", "--output-format=concise"]],
    ids=["format", "lint"],
)
def test_the_code_is_clean_under_ruff(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ruff", *arguments, "."], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
