"""`gaelp market`: tune rule-based bidders on a market, compare them, and replay published results."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say, show_json, show_table, show_text
from gaelp.cli.startup import prepare
from gaelp.config import Settings, names_in

if TYPE_CHECKING:
    from gaelp.market.baselines.compare import Comparison, Estimate, Result
    from gaelp.market.market import Market

__all__ = ["app", "compare_rules", "list_markets", "replay_published", "tune_rules"]

app = typer.Typer(no_args_is_help=True, help="Tune and compare rule-based bidders on markets.")

_SUITE = ("calm", "cal", "cal-first", "signals")

Progress = Callable[[str, int, int], None]


@app.command("compare")
def compare_rules(
    config: ConfigOption = None,
    markets: Annotated[
        list[str] | None,
        typer.Option(
            "--market", "-m", metavar="NAME|PATH", help="A market; may be repeated.", show_default="of config"
        ),
    ] = None,
    suite: Annotated[bool, typer.Option("--all", help=f"The suite: {', '.join(_SUITE)}.", show_default=False)] = False,
    episodes: Annotated[
        int | None,
        typer.Option("--episodes", min=2, help="Held-out episodes for each bidder.", show_default="of config"),
    ] = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Play every tuned bidder on the same held-out episodes: one table a market.

    **reward** is value won over the hindsight optimum, so 1 is perfect. **headroom** is how much of the way from the
    constant bid to the optimum a bidder covers. Those marked *(informed)* are told how hour and price relate to value.

    - `gaelp market compare --config quick-test`

    - `gaelp market compare --all --json`

    The parameters come from configs/baselines/, found by `gaelp market tune` on other episodes.
    """
    from gaelp.market.baselines.compare import compare  # noqa: PLC0415 - numba takes a second that `--help` need not spend
    from gaelp.market.baselines.tuned import load_tuned  # noqa: PLC0415 - as above

    settings = prepare(config, overrides).settings
    names = [*(markets or ()), *(_SUITE if suite else ())] or [settings.market.name]
    comparisons = []
    for name in dict.fromkeys(names):
        market = _market(name, settings)
        tuned = load_tuned(market)
        with _progress(f"{market.spec.name}: playing", len(tuned.kinds)) as progress:
            comparison = compare(
                market,
                tuned.build_all(),
                constant=tuned.constant(),
                episodes=episodes or settings.evaluation.episodes,
                seed=settings.evaluation.seed,
                progress=progress,
            )
        comparisons.append(comparison)
        if not as_json:
            _show_comparison(comparison)
    if as_json:
        show_json({"comparisons": [comparison.model_dump() for comparison in comparisons]})


@app.command("tune")
def tune_rules(
    name: Annotated[str, typer.Argument(metavar="MARKET", help="A name from configs/markets or a path.")],
    config: ConfigOption = None,
    trials: Annotated[int, typer.Option("--trials", min=1, help="Parameter sets tried for each bidder.")] = 60,
    out: Annotated[
        Path | None, typer.Option("--out", help="Where to write.", show_default="configs/baselines/MARKET.yaml")
    ] = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search every bidder's parameters on training episodes, with the same number of trials for each.

    - `gaelp market tune cal`

    - `gaelp market tune my-market.yaml --trials 120 --out tuned.yaml`

    Takes a minute or two with 60 trials. The same seed (`--set run.seed=7`) finds the same parameters.
    """
    from gaelp.market.baselines.catalog import CATALOG  # noqa: PLC0415 - numba takes a second that `--help` need not spend
    from gaelp.market.baselines.tune import Search, tune  # noqa: PLC0415 - as above
    from gaelp.market.baselines.tuned import as_yaml  # noqa: PLC0415 - as above

    settings = prepare(config, overrides).settings
    market = _market(name, settings)
    path = out or Path("configs", "baselines", f"{market.spec.name}.yaml")
    with _progress(f"{market.spec.name}: tuning", len(CATALOG)) as progress:
        tuned = tune(market, Search(trials=trials, seed=settings.run.seed), progress=progress)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(as_yaml(tuned), encoding="utf-8")
    if as_json:
        show_json({"path": str(path), **tuned.model_dump()})
        return
    show_table(("bidder", "reward in training"), ((key, f"{one.score:.3f}") for key, one in tuned.bidders.items()))
    say(f"Written to {path}")


@app.command("replay")
def replay_published(
    published: Annotated[
        Path, typer.Option("--published", metavar="FOLDER", help="The released files of iPinYou campaign 2997.")
    ],
    as_json: JsonOption = False,
) -> None:
    """Replay the bidders of Cai et al. (WSDM 2017) auction by auction, beside the published figures.

    - `gaelp market replay --published ipinyou_2997`

    Exits 0 if every figure is the published one, 1 if not.
    """
    from gaelp.market.baselines.published import published_table  # noqa: PLC0415 - numba takes a second, as above

    rows = published_table(published)
    same = all(row.equal for row in rows)
    if as_json:
        fields = (
            "bidder",
            "impressions",
            "clicks",
            "cost",
            "published_impressions",
            "published_clicks",
            "published_cost",
        )
        show_json({"equal": same, "rows": [{field: getattr(row, field) for field in fields} for row in rows]})
    else:
        show_table(
            ("bidder", "clicks", "published", "cost", "published", "equal"),
            (
                (
                    row.bidder,
                    str(row.clicks),
                    str(row.published_clicks),
                    f"{row.cost:,}",
                    f"{row.published_cost:,}",
                    _word(row.equal),
                )
                for row in rows
            ),
        )
    if not same:
        raise typer.Exit(1)


@app.command("list")
def list_markets(as_json: JsonOption = False) -> None:
    """List the markets of configs/markets and whether their bidders are tuned."""
    from gaelp.market.build import load_market_spec  # noqa: PLC0415 - numba takes a second that `--help` need not spend

    tuned = names_in("baselines")
    specs = {name: load_market_spec(name) for name in names_in("markets")}
    entries = [
        {"market": name, "label": spec.label, "days": spec.days, "segments": spec.segments, "tuned": name in tuned}
        for name, spec in specs.items()
    ]
    if as_json:
        show_json({"markets": entries})
        return
    columns = ("market", "label", "days", "segments", "tuned")
    show_table(columns, ([_word(entry[column]) for column in columns] for entry in entries))


def _word(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _market(name: str, settings: Settings) -> "Market":
    from gaelp.market.build import build_market, configured_personas, load_market_spec  # noqa: PLC0415 - as above

    return build_market(load_market_spec(name), configured_personas(settings))


@contextmanager
def _progress(title: str, bidders: int) -> Iterator[Progress]:
    """A bar on stderr, over all bidders; outside a terminal one line says that work has begun."""
    from rich.console import Console  # noqa: PLC0415 - rich takes a fifth of a second that JSON and help need not spend
    from rich.progress import Progress as Bar  # noqa: PLC0415 - as above

    console = Console(stderr=True)
    if not console.is_terminal:
        say(f"{title} {bidders} bidders ...")
    finished: dict[str, float] = {}
    with Bar(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(title, total=bidders)

        def show(bidder: str, done: int, total: int) -> None:
            finished[bidder] = done / total
            bar.update(task, completed=sum(finished.values()), description=f"{title} {bidder}")

        yield show


def _show_comparison(comparison: "Comparison") -> None:
    show_text(f"Market {comparison.market} ({comparison.label}), {comparison.episodes} held-out episodes")
    columns = (
        "bidder",
        "reward",
        "headroom",
        f"lead over {comparison.best_uninformed}",
        "budget used",
        "10th percentile",
    )
    show_table(columns, [_row(result) for result in comparison.results])
    show_text(_meaning(comparison) + "\n")


def _row(result: "Result") -> tuple[str, ...]:
    return (
        result.policy,
        _with_interval(result.reward, 3),
        _with_interval(result.headroom_share, 2),
        _percent(result.lead_over_best),
        f"{result.budget_used:.1%}",
        f"{result.reward_p10:.3f}",
    )


def _with_interval(estimate: "Estimate", digits: int) -> str:
    return f"{estimate.value:.{digits}f} ± {(estimate.upper_95 - estimate.lower_95) / 2:.{digits}f}"


def _percent(estimate: "Estimate") -> str:
    return f"{estimate.value:+.1%} ± {(estimate.upper_95 - estimate.lower_95) / 2:.1%}"


def _meaning(comparison: "Comparison") -> str:
    """What the table says, in one sentence."""
    best, constant = comparison.of(comparison.best_uninformed), comparison.of(comparison.constant)
    sentence = (
        f"The best rule, {best.policy}, wins {best.reward.value:.1%} of what was possible, the constant bid "
        f"{constant.reward.value:.1%}: an agent has to beat the rule, not the constant"
    )
    informed = max((one for one in comparison.results if one.informed), key=lambda one: one.reward.value, default=None)
    if informed is None or informed.lead_over_best.lower_95 <= 0:
        return sentence + "."
    return f"{sentence}; knowing how hour and price relate to value is worth {informed.lead_over_best.value:.1%} more."
