"""`gaelp data synthesize`: a history of campaigns on the local ad platform, into the store."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from gaelp.bootstrap import open_store
from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say, show_json, show_table, show_text
from gaelp.cli.startup import prepare
from gaelp.config.validation import validated
from gaelp.errors import BadInput
from gaelp.sandbox.incumbent import SynthesisSpec
from gaelp.sandbox.spec import load_sandbox_spec
from gaelp.sandbox.synthesis import synthesize
from gaelp.sandbox.synthesis_rows import history_source, history_tables

__all__ = ["synthesize_data"]

_LINES = 10  # of progress where there is no terminal


def synthesize_data(
    weeks: Annotated[int, typer.Option("--weeks", help="How many whole weeks.")] = 6,
    campaigns: Annotated[int, typer.Option("--campaigns", help="How many, each with 8 ad groups.")] = 12,
    bid_log_sd: Annotated[
        float,
        typer.Option("--bid-log-sd", help="Spread of the random factor: less leaves no support, more costs value."),
    ] = 0.4,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Of world, budgets and bids.", show_default="run.seed")
    ] = None,
    world: Annotated[str, typer.Option("--world", help="A world of configs/sandbox, or the path of one.")] = "default",
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Synthesize history: an incumbent bids on the local ad platform, and what it would have is stored.

    Decisions with bids and densities, hourly reports with revisions, clicks, sales with refunds, spend, impression
    shares and bid simulator points; docs/synthesize.md describes them. The same command stores nothing twice.

    - `gaelp data synthesize --weeks 6 --campaigns 12`

    - `gaelp data calibrate --from reports --check`
    """
    settings = prepare(config, overrides).settings
    chosen = settings.run.seed if seed is None else seed
    given = {"weeks": weeks, "campaigns": campaigns, "bid_log_sd": bid_log_sd, "seed": chosen}
    spec = validated(SynthesisSpec, given, lambda path: "--" + str(path[-1]).replace("_", "-"), error=BadInput)
    place = load_sandbox_spec(world).model_copy(update={"seed": chosen})
    with _progress(f"{weeks} weeks of {campaigns} campaigns") as progress:
        history = synthesize(spec, place, progress)
    say("Storing ...")
    tables = history_tables(history)
    store = open_store(settings)
    try:
        appended = store.append(tables)
    finally:
        store.close()
    source = history_source(history.spec, history.world)
    rows = {name.value: table.num_rows for name, table in tables.items()}
    if as_json:
        show_json(
            {"source": source, "stored": appended.stored, "already_stored": appended.already_stored, "rows": rows}
        )
        return
    show_table(("table", "rows"), [(name, f"{count:,}") for name, count in rows.items()])
    show_text(f"{appended.stored:,} stored, {appended.already_stored:,} already stored, as source {source}")


@contextmanager
def _progress(title: str) -> Iterator[Callable[[int, int], None]]:
    """A bar in a terminal, a line for every tenth elsewhere."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(20), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(title)

        def show(done: int, total: int) -> None:
            if console.is_terminal:
                bar.update(task, completed=done, total=total)
            elif done * _LINES // total > (done - 1) * _LINES // total:
                say(f"{title}: {done / total:.0%}")

        yield show
