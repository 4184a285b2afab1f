"""`gaelp market`: tune and compare rule-based bidders, replay published results, compare markets with public data."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated

import typer

from gaelp.cli.bidder_progress import show_bidder_progress
from gaelp.cli.comparison_table import show_all_comparisons, show_comparison
from gaelp.cli.interruption import watch
from gaelp.cli.options import ConfigOption, JsonOption, ObjectiveOption, SetOption, as_typed, with_objective
from gaelp.cli.output import say, show_json, show_table, show_text
from gaelp.cli.startup import prepare
from gaelp.config import Settings, names_in
from gaelp.config.write import write_models
from gaelp.errors import BadInput
from gaelp.market.baselines.catalog import CATALOG
from gaelp.market.baselines.compare import compare
from gaelp.market.baselines.published import published_table
from gaelp.market.baselines.tune import Search, tune
from gaelp.market.baselines.tuned import load_tuned, load_tuned_file
from gaelp.market.baselines.tuned_target import target_file
from gaelp.market.build import build_market, configured_personas, load_market_spec
from gaelp.market.market import Market
from gaelp.market.personas import PersonaTable
from gaelp.market.realism import CHANNELS, measure_realism
from gaelp.market.realism_text import realism_cells, realism_json, source_lines
from gaelp.phases.trained_agents import trained_agents

__all__ = ["app", "compare_rules", "compare_with_public_data", "list_markets", "replay_published", "tune_rules"]

app = typer.Typer(no_args_is_help=True)

_SUITE = ("calm", "cal", "cal-first", "signals", "search", "display")
_TRIALS_MAX = 10_000  # ten hours of search


@app.command("compare")
def compare_rules(
    config: ConfigOption = None,
    markets: Annotated[
        list[str] | None,
        typer.Option(
            "--market", "-m", metavar="NAME|PATH", help="A market; may be repeated.", show_default="of config"
        ),
    ] = None,
    suite: Annotated[
        bool,
        typer.Option(
            "--all",
            help=f"The suite: {', '.join(_SUITE)}; each with every objective that bidders were tuned for.",
            show_default=False,
        ),
    ] = False,
    episodes: Annotated[
        int | None,
        typer.Option("--episodes", help="Held-out episodes for each bidder, 2 to 1,000,000.", show_default="of config"),
    ] = None,
    tuned_file: Annotated[
        Path | None,
        typer.Option(
            "--tuned",
            metavar="FILE",
            help="What `gaelp market tune --out` wrote, for one market.",
            show_default="configs/baselines/MARKET.yaml",
        ),
    ] = None,
    agents_home: Annotated[
        Path | None,
        typer.Option(
            "--agents",
            metavar="HOME",
            help="Add the trained agents of the runs below this folder, as they were judged.",
        ),
    ] = None,
    objective: ObjectiveOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Play every tuned bidder on the same held-out episodes: one table a market.

    **reward** is what the objective counts over the hindsight optimum, so 1 is perfect. **headroom** is how much of the
    way from the constant bid to the optimum a bidder covers, **lead** its reward against that of the best rule that is
    not informed, **spent** the share of the budget it used, **p10** the reward that it misses in one episode of ten.
    Those marked *(informed)* know how hour and price relate to value. A second table shows the same in money.
    `gaelp market list` says how each bidder bids. Several markets end with one table of all of them; the runs of
    `--agents` are added there, each with the held-out episodes of its own.

    - `gaelp market compare --config quick-test`

    - `gaelp market compare --all --json`

    - `gaelp market compare --all --agents .gaelp-bench`

    - `gaelp market compare --objective profit`

    - `gaelp market compare --market my-market.yaml --tuned tuned.yaml`

    The parameters come from configs/baselines/, found by `gaelp market tune` on other episodes.
    """
    settings = with_objective(prepare(config, overrides).settings, objective)
    names = list(dict.fromkeys([*(markets or ()), *(_SUITE if suite else ())] or [settings.market.name]))
    if tuned_file and len(names) > 1:
        raise BadInput(f"--tuned: {len(names)} markets seen, 1 allowed: a file holds the bidders of one market")
    agents = trained_agents(agents_home) if agents_home else ()
    cases = [(name, _market(name, settings), objective) for name in names]
    if suite and objective is None:
        cases += [case for name in _SUITE for case in _other_objectives(name, settings)]
    tuned_rules = [
        load_tuned(market, tuned_file, asked=as_typed(name, config, overrides, asked)) for name, market, asked in cases
    ]
    comparisons = []
    with show_bidder_progress("Playing", sum(len(tuned.kinds) for tuned in tuned_rules)) as progress:
        for (_, market, _), tuned in zip(cases, tuned_rules, strict=True):
            comparison = compare(
                market,
                tuned.build_all(),
                constant=tuned.constant(),
                episodes=settings.evaluation.episodes if episodes is None else episodes,
                seed=settings.evaluation.seed,
                progress=progress(market.spec.name),
            )
            comparisons.append(comparison)
            if not as_json:
                show_comparison(comparison)
    if as_json:
        both = {"comparisons": comparisons, "agents": agents}
        show_json({name: [each.model_dump() for each in shown] for name, shown in both.items()})
    elif agents or len(comparisons) > 1:
        show_all_comparisons(comparisons, agents)


@app.command("tune")
def tune_rules(
    name: Annotated[str, typer.Argument(metavar="MARKET", help="A name from configs/markets or a path.")],
    config: ConfigOption = None,
    trials: Annotated[
        int, typer.Option("--trials", min=1, max=_TRIALS_MAX, help="Parameter sets tried for each bidder.")
    ] = 60,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="The .yaml file to write.", show_default="configs/baselines/NAME.yaml"
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace or hide a file that was tuned for another market.")
    ] = False,
    objective: ObjectiveOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search every bidder's parameters on training episodes, with the same number of trials for each.

    - `gaelp market tune cal`

    - `gaelp market tune cal --objective target_roas=2.5`

    - `gaelp market tune my-market.yaml --trials 120 --out tuned.yaml`

    Takes about 3.5 minutes of one processor with 60 trials. The same seed (`--set run.seed=7`) finds the same
    parameters. They are configuration: without `--out` they go to configs/baselines/ of the current folder, under the
    `name` inside the market's file, and are found there by that name.
    """
    settings = with_objective(prepare(config, overrides).settings, objective)
    market = _market(name, settings)
    path = target_file(market, out, replace=force)
    watch(path)
    with show_bidder_progress("Tuning", len(CATALOG)) as progress:
        tuned = tune(market, Search(trials=trials, seed=settings.run.seed), progress=progress(market.spec.name))
    write_models({path: tuned})
    if as_json:
        show_json({"path": str(path), **tuned.model_dump()})
        return
    rows = ((kind.key, f"{tuned.bidders[kind.key].score:.3f}", kind.summary) for kind in tuned.kinds)
    show_table(("bidder", "reward in training", "how it bids"), rows)
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

    The folder holds three files, from the project rlb-dp by han-cai on GitHub, which came with the paper:

    - 2997_test.theta.txt and 2997_info.json: test.theta.txt and info.json of its folder data/ipinyou-data/2997

    - lin_bid_b0.json: one line to write, `{"2997": {"0.03125": {"b0": 10}}}`, the base bid that it tuned

    Exits 0 if every figure is the published one, 1 if not.
    """
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
        _explain_bidders({row.bidder for row in rows})
    if not same:
        raise typer.Exit(1)


@app.command("realism")
def compare_with_public_data(
    name: Annotated[str, typer.Argument(metavar="MARKET", help="A name from configs/markets or a path.")],
    config: ConfigOption = None,
    campaigns: Annotated[
        int, typer.Option("--campaigns", min=50, max=100_000, help="How many campaigns are drawn and played.")
    ] = 400,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare what a market's campaigns look like with ranges in public data, each with its source.

    - `gaelp market realism search`

    - `gaelp market realism my-market.yaml --json`

    Campaigns are played at the bids of the hindsight optimum, so no tuned bidder is needed. **fits** names the channels
    whose range holds the market's figure. The ranges are data: configs/library/public-figures.yaml.
    """
    market = _market(name, prepare(config, overrides).settings)
    rows = measure_realism(market, campaigns=campaigns)
    if as_json:
        show_json({"market": market.spec.name, "statistics": [realism_json(row) for row in rows]})
        return
    columns = ("statistic", market.spec.name, *CHANNELS, "fits")
    show_table(columns, (realism_cells(row) for row in rows))
    for row in rows:
        for line in source_lines(row):
            show_text(line)


@app.command("list")
def list_markets(config: ConfigOption = None, overrides: SetOption = None, as_json: JsonOption = False) -> None:
    """List the markets of configs/markets, whether there are bidders tuned for them, and how each bidder bids.

    *tuned* is yes where `gaelp market compare` would find bidders that fit the market and the personas as they are now.
    A file with an error is listed with its error (`problem` in JSON); the exit code is 0 all the same.
    """
    personas = configured_personas(prepare(config, overrides).settings)
    entries = [_entry(name, personas, as_typed(name, config, overrides)) for name in names_in("markets")]
    if as_json:
        show_json({"markets": entries, "bidders": {kind.key: kind.summary for kind in CATALOG}})
        return
    columns = ("market", "label", "days", "segments", "tuned")
    show_table(columns, ([_word(entry[column]) for column in columns] for entry in entries))
    for entry in entries:
        if entry["problem"]:
            show_text(f"\n{entry['market']}: {entry['problem']}")
    show_text("")
    show_table(("bidder", "how it bids"), ((kind.key, kind.summary) for kind in CATALOG))


def _entry(name: str, personas: PersonaTable, asked: Sequence[str]) -> dict[str, object]:
    """One market of the list; an error in its file or in its tuned bidders is its `problem`."""
    entry: dict[str, object] = {"market": name, "label": None, "days": None, "segments": None, "tuned": False}
    try:
        spec = load_market_spec(name)
        market = build_market(spec, personas)
        entry |= {"label": spec.label, "days": spec.days, "segments": spec.segments}
        if spec.name in names_in("baselines"):
            load_tuned(market, asked=asked)
            entry["tuned"] = True
    except BadInput as problem:
        return entry | {"problem": str(problem)}
    return entry | {"problem": None}


def _explain_bidders(keys: Collection[str]) -> None:
    for kind in CATALOG:
        if kind.key in keys:
            show_text(f"{kind.key}: {kind.summary}")


def _word(value: object) -> str:
    if value is None:
        return "?"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _other_objectives(name: str, settings: Settings) -> list[tuple[str, Market, str | None]]:
    """A market once more for each other objective that configs/baselines has bidders for."""
    spec, personas = load_market_spec(name), configured_personas(settings)
    files = [load_tuned_file(file) for file in names_in("baselines") if file.startswith(f"{spec.name}-")]
    wanted = [tuned.objective for tuned in files if tuned.market == spec.name and tuned.objective != settings.objective]
    return [(name, build_market(spec, personas, objective), objective.text) for objective in wanted]


def _market(name: str, settings: Settings) -> Market:
    return build_market(load_market_spec(name), configured_personas(settings), settings.objective)
