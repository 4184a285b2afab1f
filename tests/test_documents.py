"""Documents that cannot rot: every command they print is one that the command line takes, every list is complete."""

import importlib.util
import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
from typer.main import get_group

from gaelp.agents.conformance import CHECKS
from gaelp.cli.lazy_commands import LazyCommand
from gaelp.cli.main import app
from gaelp.market.baselines import CATALOG
from gaelp.market.build import load_market_spec
from gaelp.market.calibration import calibrate, read_log

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "docs/sample/bids.parquet"
WITH_COMMANDS = (
    "README.md",
    "docs/tutorial.md",
    "docs/agents.md",
    "docs/claims.md",
    "docs/glossary.md",
    "docs/sandbox.md",
    "docs/synthesize.md",
)
GROUP = get_group(app)


def text_of(document):
    return (ROOT / document).read_text(encoding="utf-8")


def commands_in(text):
    """What a reader would type: lines of code blocks that begin with gaelp, and gaelp in single backticks."""
    blocks = re.findall(r"```\w*\n(.*?)```", text, re.DOTALL)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    lines += re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    for line in lines:
        if re.match(r"gaelp [a-z][a-z-]*( |$)", line):
            yield from alternatives(re.split(r"  +#?|\s#\s", line)[0])


def alternatives(line):
    """`gaelp gate list | show` is two commands."""
    first, *others = [part.strip() for part in line.split(" | ")]
    *others, last = others or [""]
    word, _, options = last.partition(" ")
    stem = first.rpartition(" ")[0]
    yield f"{first} {options}".strip()
    yield from (f"{stem} {name} {options}".strip() for name in (*others, word) if name)


def problem_of(line):
    """Why the command line would not take this, or nothing."""
    command, words = GROUP, shlex.split(line.replace("[", "").replace("]", ""))[1:]
    while hasattr(command, "commands"):
        if not words:
            return None  # a whole group is meant
        if words[0].startswith("-"):
            break  # options of a group that is a command as well
        if words[0] not in command.commands:
            return f"{line}: there is no {words[0]!r}"
        command = command.commands[words.pop(0)]
        command = command.load() if isinstance(command, LazyCommand) else command
    context = command.context_class(command, info_name=command.name)
    try:
        _, left, _ = command.make_parser(context).parse_args(list(words))
    except Exception as problem:  # noqa: BLE001 - whatever the parser says is what a reader would see
        return f"{line}: {problem}"
    return f"{line}: {left} is one word too many" if left else None


COMMANDS = [
    pytest.param(line, id=f"{document}: {line}")
    for document in WITH_COMMANDS
    for line in dict.fromkeys(commands_in(text_of(document)))
]


@pytest.mark.parametrize("line", COMMANDS)
def test_a_printed_command_is_one_that_the_command_line_takes(line):
    assert problem_of(line) is None


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("gaelp trian", "there is no 'trian'"),
        ("gaelp gate shew RUN", "there is no 'shew'"),
        ("gaelp train --confg quick-test", "--confg"),
        ("gaelp train --config", "--config"),
        ("gaelp train quick-test", "one word too many"),
    ],
)
def test_a_command_that_nobody_could_type_is_noticed(line, reason):
    assert reason in problem_of(line)


def test_the_documents_print_many_commands_and_alternatives_count_one_by_one():
    assert len(COMMANDS) > 50
    assert list(alternatives("gaelp gate list | show RUN")) == ["gaelp gate list RUN", "gaelp gate show RUN"]
    assert list(alternatives("gaelp up | down")) == ["gaelp up", "gaelp down"]


@pytest.mark.parametrize("document", ["docs/claims.md", "CONTRIBUTING.md"])
def test_every_test_that_a_document_names_exists(document):
    named = re.findall(r"(?:tests|bench|configs|gaelp)/[\w/.-]*\w", text_of(document))
    assert len(named) > 10
    assert [path for path in named if "NAME" not in path and "PHASE" not in path and not (ROOT / path).exists()] == []


def test_every_demand_on_an_agent_is_explained():
    demands = text_of("docs/agents.md").split("### What conformance demands")[1].split("###")[0]
    explained = re.findall(r"^\| `(\w+)` \| [^|]{20,} \|$", demands, re.MULTILINE)
    assert explained == [check.__name__ for check in CHECKS]


def test_every_bidder_is_explained_as_the_commands_explain_it_or_more_fully():
    bidders = text_of("docs/glossary.md").split("## Bidders")[1]
    explained = re.findall(r"^\| `([\w-]+)` \| (.*) \|$", bidders, re.MULTILINE)
    assert [key for key, _ in explained] == [kind.key for kind in CATALOG]
    assert [
        sentence for (_, sentence), kind in zip(explained, CATALOG, strict=True) if kind.summary not in sentence
    ] == []


def test_the_recipe_in_the_document_is_the_one_that_is_generated():
    generated = (ROOT / "configs/init/recipe.yaml").read_text(encoding="utf-8").split("\n\n", 1)[1]
    assert generated.replace("starter", "mine   ") in text_of("docs/agents.md")


def test_each_question_of_a_newcomer_is_answered_within_three_places():
    table = text_of("ARCHITECTURE.md").split("## Where do I find")[1]
    rows = [row for row in table.splitlines() if row.startswith("| ")][1:]
    assert [row for row in rows if len(re.findall(r"`[^`]*[./][^`]*`", row.split("|")[2])) > 3] == []
    for word in ("kill", "reward", "secrets", "reserved", "command of the command line"):
        assert word in table


def test_the_sample_log_is_small_and_drawn_again_by_its_script(tmp_path):
    spec = importlib.util.spec_from_file_location("make_log", ROOT / "docs/sample/make_log.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert SAMPLE.stat().st_size < 300_000
    drawn, kept = script.sample_log(), pd.read_parquet(SAMPLE)
    assert len(drawn) == len(kept)
    assert list(drawn.columns) == list(kept.columns)
    assert (drawn["price_micros"].fillna(0) - kept["price_micros"].fillna(0)).abs().max() <= 1
    assert (drawn["segment"] == kept["segment"]).all()


def test_the_sample_log_says_what_the_tutorial_says_of_it():
    report = calibrate(read_log(SAMPLE), name="shop", base=load_market_spec("cal")).report
    for line in re.findall(r"^\w+\.\w+ +\S+ +\S+ \.\. \S+ +log \(\S+\)$", text_of("docs/tutorial.md"), re.MULTILINE):
        key, value, low, _, high, *_ = line.split()
        fitted = report.statistics[key]
        assert [f"{figure:.4g}" for figure in (fitted.value, fitted.interval_low, fitted.interval_high)] == [
            value,
            low,
            high,
        ]
