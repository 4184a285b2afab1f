"""`gaelp data episodes`: stored episodes step by step, two side by side, or played again."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from gaelp.bootstrap import open_store
from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say, show_json, show_table, show_text
from gaelp.cli.startup import prepare_reading
from gaelp.clock import SystemClock
from gaelp.config.places import absolute, shown
from gaelp.errors import Refused
from gaelp.storage.episode_plot import plot_episodes
from gaelp.storage.episode_reader import HourSums, StoredEpisode, find_episode, hour_sums, list_episodes
from gaelp.storage.sealed_store import withheld_note
from gaelp.storage.store import EpisodeStore, RowFilter

__all__ = ["app", "compare_episodes", "list_stored", "replay_stored", "show_episode"]

app = typer.Typer(no_args_is_help=True)

EpisodeArgument = Annotated[
    str, typer.Argument(help="The episode's name, or a part of it that no other name contains.")
]
PlotOption = Annotated[Path | None, typer.Option("--plot", metavar="FILE.png", help="Draw it to this file.")]
_HOUR_COLUMNS = ("hour", "time", "budget left", "mean bid", "shown", "clicks", "spend", "value", "reward")


@app.command("list")
def list_stored(
    source: Annotated[
        list[str] | None, typer.Option("--source", help="Only of this run or import; repeatable.")
    ] = None,
    policy: Annotated[
        list[str] | None, typer.Option("--policy", help="Only of this policy version; repeatable.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Print at most so many.")] = 50,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """List stored episodes with their state and figures.

    - `gaelp data episodes list --source 20261116-020641-7f3a9c --limit 10`
    """
    settings = prepare_reading(config, overrides).settings
    with closing(open_store(settings)) as store:
        rows = list(list_episodes(store, RowFilter(sources=tuple(source or ()), policies=tuple(policy or ()))))
        _say_withheld(store)
    listed = rows[:limit]
    if as_json:
        show_json({"episodes": [_plain(row) for row in listed], "total": len(rows)})
        return
    columns = ("episode", "state", "reason", "hours", "spend", "clicks", "value", "reward")
    show_table(columns, [_listed(row) for row in listed])
    if len(rows) > limit:
        say(f"{limit} of {len(rows)} episodes; --limit shows more, --source and --policy select.")


@app.command("show")
def show_episode(
    episode: EpisodeArgument,
    plot: PlotOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show one stored episode hour by hour; --json has every segment's decision.

    - `gaelp data episodes show cal/mpc-879ece98c141/00f3 --plot episode.png`
    """
    settings = prepare_reading(config, overrides).settings
    with closing(open_store(settings)) as store:
        stored = find_episode(store, episode)
        _say_withheld(store)
    _plot([stored], plot)
    if as_json:
        decisions = [_plain(row) for row in stored.decisions.to_pylist()]
        show_json({"episode": _plain(stored.row), "decisions": decisions})
        return
    _show_head(stored)
    show_table(_HOUR_COLUMNS, [_hour_cells(hour) for hour in hour_sums(stored.decisions)])


@app.command("compare")
def compare_episodes(
    first: EpisodeArgument,
    second: Annotated[str, typer.Argument(help="The other episode.")],
    plot: PlotOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show two stored episodes side by side, hour by hour.

    - `gaelp data episodes compare RUN-1/cal/ppo-3f2a90b1c4d5/00f3 RUN-2/cal/mpc-879ece98c141/00f3 --plot both.png`
    """
    settings = prepare_reading(config, overrides).settings
    with closing(open_store(settings)) as store:
        pair = [find_episode(store, name) for name in (first, second)]
        _say_withheld(store)
    _plot(pair, plot)
    hours = [{hour.step: hour for hour in hour_sums(stored.decisions)} for stored in pair]
    steps = sorted(hours[0].keys() | hours[1].keys())
    if as_json:
        sides = [[_plain(side[step]._asdict()) if step in side else None for side in hours] for step in steps]
        show_json({"episodes": [_plain(stored.row) for stored in pair], "hours": sides})
        return
    for letter, stored in zip("AB", pair, strict=True):
        _show_head(stored, f"{letter}: ")
    columns = [f"{name} {letter}" for name in ("bid", "clicks", "spend", "value") for letter in "AB"]
    show_table(("hour", *columns), [(str(step), *_pair_cells([side.get(step) for side in hours])) for step in steps])


@app.command("replay")
def replay_stored(
    episode: EpisodeArgument,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Play a stored simulated episode again and say whether it matches what is stored; exit code 3 if not.

    The market, the seed and the policy come from its run, whose folder must still exist below the home.
    """
    from gaelp.phases.episode_replay import replay_episode  # noqa: PLC0415 - torch, which other commands do not need

    loaded = prepare_reading(config, overrides, in_home=True)
    with closing(open_store(loaded.settings)) as store:
        stored = find_episode(store, episode)
    report = replay_episode(stored, loaded, SystemClock())
    if as_json:
        show_json(report.model_dump(mode="json"))
    elif report.matches:
        show_text(f"{report.episode} matches: {report.decisions} decisions on {report.market} by {report.policy}")
    else:
        cells = [
            (str(part.step), part.segment, part.column, str(part.stored), str(part.replayed))
            for part in report.differences
        ]
        show_table(("hour", "segment", "figure", "stored", "replayed"), cells)
    if not report.matches:
        raise Refused(f"{report.episode} does not match: the code, the market or the policy is not what it was")


def _say_withheld(store: EpisodeStore) -> None:
    if note := withheld_note(store):
        say(note)


def _plot(episodes: Sequence[StoredEpisode], path: Path | None) -> None:
    if path is not None:
        plot_episodes(episodes, absolute(path))
        say(f"Drew {shown(absolute(path))}")


def _show_head(stored: StoredEpisode, label: str = "") -> None:
    row = stored.row
    reason = f" ({row['reason']})" if row["reason"] else ""
    reward = "" if row["reward"] is None else f", reward {row['reward']:.4f}"
    show_text(
        f"{label}{stored.name}: {row['state']}{reason}, {row['steps']} hours, spend {_money(row['spend_micros'])} of"
        f" {_money(row['budget_micros'])}, value {_money(row['value_micros'])}{reward}"
    )


def _listed(row: dict[str, Any]) -> tuple[str, ...]:
    reward = "-" if row["reward"] is None else f"{row['reward']:.3f}"
    clicks = "-" if row["clicks"] is None else str(row["clicks"])
    money = (_money(row["spend_micros"]), clicks, _money(row["value_micros"]), reward)
    return (row["episode"], row["state"], row["reason"] or "", str(row["steps"]), *money)


def _hour_cells(hour: HourSums) -> tuple[str, ...]:
    return (
        str(hour.step),
        f"{hour.at:%m-%d %H:%M}",
        _money(hour.budget_left_micros),
        f"{hour.mean_bid_micros / 1e6:.4f}",
        str(hour.impressions),
        str(hour.clicks),
        _money(hour.spend_micros),
        _money(hour.value_micros),
        "-" if hour.reward is None else f"{hour.reward:.4f}",
    )


def _pair_cells(pair: Sequence[HourSums | None]) -> list[str]:
    rows = [
        ("-",) * 4
        if hour is None
        else (
            f"{hour.mean_bid_micros / 1e6:.4f}",
            str(hour.clicks),
            _money(hour.spend_micros),
            _money(hour.value_micros),
        )
        for hour in pair
    ]
    return [cells for column in zip(*rows, strict=True) for cells in column]


def _money(micros: int | None) -> str:
    return "-" if micros is None else f"{micros / 1e6:,.2f}"


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value.isoformat() if hasattr(value, "isoformat") else value for name, value in row.items()}
