"""The policy card: what a model was trained on, what it passed, what it was refused for, and its limits."""

import math
from collections.abc import Sequence

from gaelp.export.export_manifest import ExportManifest, Parity
from gaelp.gates import Verdict
from gaelp.registry.aliases import Aliases
from gaelp.registry.manifest import ModelManifest

__all__ = ["CARD", "card_text"]

CARD = "policy-card.md"


def card_text(export: ExportManifest, model: ModelManifest, verdicts: Sequence[Verdict], aliases: Aliases) -> str:
    """The card as markdown."""
    names = ", ".join(aliases.named(model.version)) or "no alias"
    parts = [
        f"# Policy card: {model.name}, version {model.version} ({names})",
        _what(export, model),
        "## Trained on",
        _trained(export, model),
        "## Passed",
        *(_verdict(verdict) for verdict in verdicts if verdict.outcome == "pass"),
        "## Refused for",
        _refused(verdicts),
        "## Export",
        "\n".join(_parity(parity) for parity in export.parity),
        "## Limits",
        _limits(export),
    ]
    return "\n\n".join(parts) + "\n"


def _what(export: ExportManifest, model: ModelManifest) -> str:
    if not export.learned:
        return f"{model.agent}: the tuned rule `{export.rule}`, without anything learned."
    return (
        f"{model.agent}: the algorithm `{export.algorithm}` moves the bids of the rule `{export.rule}`, segment by"
        f" segment, by a factor of at most {_reach(export):.3g} up or down. Model {model.model_hash[:12]}."
    )


def _reach(export: ExportManifest) -> float:
    return math.exp(3.0 * export.residual.scale)


def _trained(export: ExportManifest, model: ModelManifest) -> str:
    source = f"{model.commit or 'unknown'}{' with changes' if model.dirty else ''}"
    market = export.market
    lines = [
        (
            f"- Market `{market.name}` ({market.segments} segments, flights of {market.hours} hours), objective"
            f" {export.objective.text}; run {model.lineage.run_id}, attempt {model.lineage.attempt}."
        ),
        *(
            f"- Data, {window.name}: {window.source}{_dates(window.begin, window.end)}."
            for window in model.data_windows
        ),
        f"- Source {source}; configuration {model.config_hash}; features {export.feature_version}.",
    ]
    return "\n".join(lines)


def _dates(begin: object, end: object) -> str:
    return f", {begin} to {end}" if begin and end else ""


def _verdict(verdict: Verdict) -> str:
    rows = [
        f"| {rule.criterion.metric} | {_figure(rule.value)} | {_figure(rule.compared)} | {rule.criterion.bound}"
        f" {rule.criterion.threshold:g} | {rule.outcome} |"
        for rule in verdict.results
    ]
    head = f"Gate `{verdict.gate.name}`, judged {verdict.judged_at:%Y-%m-%d %H:%M} UTC: {verdict.summary}"
    return "\n".join([head, "", "| rule | value | compared | asked for | outcome |", "|---|---|---|---|---|", *rows])


def _figure(value: float | None) -> str:
    return "none" if value is None else f"{value:.4g}"


def _refused(verdicts: Sequence[Verdict]) -> str:
    refused = [verdict for verdict in verdicts if verdict.outcome != "pass"]
    if not refused:
        return "No gate that judged this version refused it. Gates after the last one above have not judged it."
    return "\n\n".join(_verdict(verdict) for verdict in refused)


def _parity(parity: Parity) -> str:
    return (
        f"- {parity.format}: {parity.decisions:,} decisions ({parity.bids:,} bids) compared with the model itself;"
        f" {parity.different_bids:,} differ, the largest by {parity.largest_difference_micros:,} micros"
        f" ({parity.largest_relative_difference:.2g} of the bid); outside the tolerance: {parity.outside}."
    )


def _limits(export: ExportManifest) -> str:
    market = export.market
    return "\n".join(
        [
            (
                f"- It was judged on flights of {market.hours} hours with {market.segments} segments of the market"
                f" `{market.name}`, and on the data above; elsewhere nothing is proven."
            ),
            (
                "- A bid is for an impression. What a platform bids for a click follows from it and from the expected"
                " click rate; budgets, caps and the mandate are enforced elsewhere, not by the policy."
            ),
            "- It reads only the features of its version. Another feature version is refused, not converted.",
            "- The evidence is as old as its verdicts: markets drift.",
        ]
    )
