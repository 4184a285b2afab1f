"""`gaelp init`: a folder to start from, with a commented configuration and, if asked for, an agent of one's own."""

import keyword
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from gaelp.cli.output import say, show_text
from gaelp.config import check_name, names_in
from gaelp.config.places import absolute, repository_root, shown
from gaelp.errors import BadInput, ConfigError

__all__ = ["init"]

_AGENT_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_AGENT_TEST = '''\
"""What GAELP demands of every agent, one test for each demand: run `pytest` in this folder."""

from gaelp.agents.conformance import LearnerConformance

from starter_agent import KIND, StarterAgentConfig


class TestStarterAgent(LearnerConformance):
    kind = KIND
    config = StarterAgentConfig(steps_per_update=6)  # small, so that it learns after a few steps
'''


def init(
    folder: Annotated[Path, typer.Argument(metavar="[FOLDER]", help="Where to write; made if missing.")] = Path(),
    agent: Annotated[
        str | None,
        typer.Option("--agent", metavar="NAME", help="Also write an agent of this name, ready to be changed."),
    ] = None,
) -> None:
    """Write a commented configuration to start from, and with --agent a package with an agent of your own.

    Nothing is overwritten: if one of the files exists, all that exist are named and none is written.

    - `gaelp init shop`: shop/gaelp.yaml, with every setting of phase 1 and what it means

    - `gaelp init shop --agent mine`: also a package with an agent that learns, its test and its recipe
    """
    place = absolute(folder)
    files = _config_file(place) | (_agent_files(place, agent) if agent is not None else {})
    _refuse_existing(files)
    _write(files)
    for path in files:
        say(f"Wrote {shown(path)}")
    show_text("\n".join(_next_steps(folder, agent)))


def _config_file(folder: Path) -> dict[Path, str]:
    text = _template("gaelp.yaml")
    with suppress(ConfigError):  # a folder whose name no run may have: the run's name stays my-project
        text = text.replace(f"{'my-project':20} #", f"{check_name(folder.name, 'FOLDER'):20} #")
    return {folder / "gaelp.yaml": text}


def _agent_files(folder: Path, name: str) -> dict[Path, str]:
    """The package, and the recipe that `gaelp train` finds by the agent's name in this folder."""
    taken = [recipe.replace("-", "_") for recipe in names_in(repository_root() / "configs" / "agents")]
    if not _AGENT_NAME.fullmatch(name) or keyword.iskeyword(name) or name in taken:
        raise BadInput(
            f"--agent: saw {name!r}; allowed: 1 to 40 lower-case letters, digits and '_', a letter first, that are"
            f" neither a word of Python nor one of GAELP's own agents ({', '.join(taken)}). Choose another name."
        )
    source = (repository_root() / "gaelp" / "agents" / "starter.py").read_text(encoding="utf-8")
    package = folder / "agents" / name
    texts = {
        folder / "configs" / "agents" / f"{name}.yaml": _template("recipe.yaml"),
        package / "pyproject.toml": _template("agent-pyproject.toml"),
        package / f"{name}_agent.py": re.sub(r"__all__ = .*\n\n+", "\n", source),
        package / f"test_{name}_agent.py": _AGENT_TEST,
    }
    camel = "".join(word.capitalize() for word in name.split("_"))
    return {path: text.replace("Starter", camel).replace("starter", name) for path, text in texts.items()}


def _template(name: str) -> str:
    return (repository_root() / "configs" / "init" / name).read_text(encoding="utf-8")


def _refuse_existing(files: Mapping[Path, str]) -> None:
    existing = [shown(path) for path in files if path.exists() or path.is_symlink()]
    if existing:
        raise BadInput(
            f"{', '.join(existing)} exist{'s' if len(existing) == 1 else ''} already, and nothing was written:"
            " name another folder, or move what is there"
        )


def _write(files: Mapping[Path, str]) -> None:
    """Write all files, or none of them; a file that appeared in the meantime is left as it is."""
    written: list[Path] = []
    try:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                written.append(path)
                file.write(text)
    except OSError as problem:
        for path in written:
            path.unlink(missing_ok=True)
        raise BadInput(
            f"{shown(path)} cannot be written: {problem.strerror}. Name a folder that can be written."
        ) from None


def _next_steps(folder: Path, agent: str | None) -> Iterator[str]:
    yield "Next:"
    if folder != Path():
        yield f"  cd {folder}"
    yield "  gaelp config check gaelp.yaml"
    if agent is None:
        yield "  gaelp train --config gaelp.yaml --set training.rounds=15"
        return
    yield f"  pip install --editable agents/{agent}"
    yield f"  pytest agents/{agent}"
    yield f"  gaelp train --config gaelp.yaml --set training.agent={agent}"
