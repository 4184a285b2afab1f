"""`gaelp gate power`: what the rules of a gate can see, with how many observations, days and dollars."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from gaelp.cli.options import ConfigOption, JsonOption
from gaelp.cli.output import say, show_json, show_paragraph, show_table, show_text
from gaelp.cli.startup import prepare
from gaelp.config.validation import validated
from gaelp.errors import BadInput
from gaelp.gates.criteria import load_gate
from gaelp.gates.metrics import undeclared
from gaelp.gates.power import POWERS, PowerAssumptions, PowerRow, RulePower, gate_power
from gaelp.types import Phase

__all__ = ["power"]

_ASSUMED = PowerAssumptions()
_OUT_OF_REACH = "out of reach"


def power(
    gate: Annotated[
        str | None,
        typer.Option("--gate", metavar="NAME|PATH", help="One gate, such as scale.", show_default="all four"),
    ] = None,
    spend_per_day: Annotated[
        float, typer.Option("--spend-per-day", help="Dollars a campaign spends in a day; a control spends as much.")
    ] = _ASSUMED.spend_per_day,
    campaigns: Annotated[
        int, typer.Option("--campaigns", help="Campaigns, or pairs of them, that run at once.")
    ] = _ASSUMED.campaigns,
    flight_days: Annotated[int, typer.Option("--flight-days", help="Days a campaign lasts.")] = _ASSUMED.flight_days,
    spread: Annotated[
        float,
        typer.Option("--value-per-observation", metavar="SD/MEAN", help="Spread of the value won in a campaign-day."),
    ] = _ASSUMED.spread,
    sds: Annotated[
        list[str] | None,
        typer.Option("--sd", metavar="METRIC=NUMBER", help="Spread of one observation of a metric; may be repeated."),
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what the rules of a gate can see, with how many observations, days and dollars, before you spend any.

    First one row for each rule: a true value that it can see, and the sample that this takes. With `--gate`, every
    rule in detail follows. A row there says: if the truth is **truth**, a sample of that size distinguishes it from
    **compared with** with this **power**. *out of reach* is what the gate cannot see. **false alarms** is the chance
    that an agent exactly at the threshold passes.

    - `gaelp gate power --gate scale --spend-per-day 100`

    - `gaelp gate power --gate pilot --flight-days 28 --sd roi=0.5`

    Take the spread from your own reports: the standard deviation of the value of a campaign-day, divided by its mean.
    The defaults come from a simulated search account: 1.6 for a campaign-day, and 0.60, 0.47 and 0.40 for the ROI of a
    campaign of 7, 14 and 28 days.
    """
    settings = prepare(config).settings
    given = {"spend_per_day": spend_per_day, "campaigns": campaigns, "flight_days": flight_days, "spread": spread}
    assumed = validated(PowerAssumptions, {**given, "sd": _read_sds(sds or ())}, lambda _: "option", error=BadInput)
    gates = [load_gate(name, settings.gate) for name in ([gate] if gate else [phase.value for phase in Phase])]
    results = {loaded.name: gate_power(loaded, assumed) for loaded in gates}
    if as_json:
        rules = {name: [_as_json(rule) for rule in powers] for name, powers in results.items()}
        show_json({"assumed": assumed.model_dump(), "gates": rules})
        return
    _show_summary(results, assumed)
    if gate is None:
        say("`gaelp gate power --gate NAME` adds every rule of a gate in detail.")
        return
    for name, powers in results.items():
        for rule in powers:
            _show_rule(name, rule, assumed)


def _show_summary(results: Mapping[str, Sequence[RulePower]], assumed: PowerAssumptions) -> None:
    """One row for each rule: an example of what it can see, and at which cost."""
    for name, powers in results.items():
        show_text(f"Gate {name}")
        show_table(("rule", "asks", "sees", "from", "sample", "days", "dollars"), [_summary(rule) for rule in powers])
        show_text("")
    show_paragraph(
        f'Read: if the truth is "sees", the rule distinguishes it "from" the other value in {POWERS[0]:.0%} of cases'
        f" with this sample. Days and dollars: {assumed.campaigns} campaigns at once at ${assumed.spend_per_day:g} a"
        " day each. Spreads are assumptions: give your own with --sd and --value-per-observation."
    )
    show_text("")


def _summary(rule: RulePower) -> tuple[str, ...]:
    metric = rule.figure.removesuffix("_lower_95").removesuffix("_upper_95")
    example = _example(rule)
    if example is None:
        exact = "exact" if rule.false_alarms == 0 else "not modelled"
        return metric, rule.asked, "see --gate" if rule.rows else exact, "", "", "", ""
    truth, against, _, sample, days, dollars = _cells(example)
    unit = rule.sample_metric.replace("_", " ").removesuffix(" observations")
    return metric, rule.asked, truth, against, f"{sample} {unit}", days, dollars


def _read_sds(texts: Sequence[str]) -> dict[str, float]:
    sds = {}
    for text in texts:
        metric, _, number = text.partition("=")
        if problem := undeclared(metric):
            raise BadInput(f"--sd {text}: {problem}")
        try:
            sds[metric] = float(number)
        except ValueError:
            raise BadInput(f"--sd {text}: allowed is METRIC=NUMBER, such as roi=0.5") from None
    return sds


def _as_json(rule: RulePower) -> dict[str, Any]:
    return {**rule._asdict(), "rows": [row._asdict() for row in rule.rows]}


def _show_rule(gate: str, rule: RulePower, assumed: PowerAssumptions) -> None:
    alarms = "not modelled" if rule.false_alarms is None else f"at most {rule.false_alarms:.2g}"
    show_paragraph(f"{gate}: {rule.figure} {rule.asked} (false alarms: {alarms})")
    if rule.rows:
        show_table(
            ("truth", "compared with", "power", rule.sample_metric, "days", "dollars"),
            [_cells(row) for row in rule.rows],
        )
    if (example := _example(rule)) and example.dollars is not None:
        show_paragraph(
            f"To distinguish {example.truth:.3g} from {example.against:.3g} with {example.power:.0%} power:"
            f" {example.sample:,} {rule.sample_metric}, {example.days:,} days with {assumed.campaigns} campaigns"
            f" at once, about ${example.dollars:,.0f} at ${assumed.spend_per_day:g} a day."
        )
    for note in rule.notes:
        show_paragraph(f"- {note}", indent="  ")
    show_text("")


def _example(rule: RulePower) -> PowerRow | None:
    """The middle one of the answers in reach, neither the easiest nor the hardest; those that cost money first."""
    in_reach = [row for row in rule.rows if row.sample is not None and row.power == POWERS[0]]
    rows = [row for row in in_reach if row.dollars is not None] or in_reach
    return rows[(len(rows) - 1) // 2] if rows else None


def _cells(row: PowerRow) -> tuple[str, ...]:
    sample = _OUT_OF_REACH if row.sample is None else f"{row.sample:,}"
    days = "" if row.days is None else f"{row.days:,}"
    dollars = "" if row.dollars is None else f"{row.dollars:,.0f}"
    return f"{row.truth:.3g}", f"{row.against:.3g}", f"{row.power:.0%}", sample, days, dollars
