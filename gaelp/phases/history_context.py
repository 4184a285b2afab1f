"""What to show beside the verdict on phase 2, read from the records of the run."""

from pathlib import Path

from gaelp.gates.verdict_context import BiddersTable, ComparedBidder, VerdictContext
from gaelp.history.logged_lift import PolicyLift
from gaelp.history.posterior_report import LOGGED_BIDS, PosteriorLift
from gaelp.market.baselines.catalog import CATALOG
from gaelp.phases.attempt_context import attempt_context
from gaelp.phases.data_evidence import data_facts
from gaelp.phases.history_figures import TrueResult
from gaelp.phases.history_pictures import read_pictures
from gaelp.phases.history_result import HistoryResult
from gaelp.phases.phase_result import PhaseResult
from gaelp.phases.run_folder import PhaseFolder

__all__ = ["history_context"]

_GAPS_SHOWN = 3
_SUMMARIES = {kind.build().name: f"{kind.summary[0].upper()}{kind.summary[1:]}." for kind in CATALOG}
_LIFT = "lift over the logged bids"
_LOG_TABLE = BiddersTable(
    title="Bidders on the same logged decisions",
    measure="value per dollar",
    text="Value for each unit of money spent, best first, estimated from logged outcomes, of bids within the log's"
    " support; intervals hold over all three looks together. Compare rows that were run again by their lift: their"
    " value is expected value.",
)
_MODEL_TABLE = BiddersTable(
    title="Bidders in the market, model-based",
    measure="value per dollar",
    text="Value for each unit of money spent, by the market alone, best first. Intervals are the spread over markets"
    " drawn from what the log leaves unknown; they do not cover what the market gets wrong. Compare rows that were run"
    " again by their lift: their value is another one.",
)


def history_context(result: PhaseResult, home: Path) -> VerdictContext:
    """Facts and bidders of an attempt. A file that cannot be read is named; it closes no gate."""
    return attempt_context(result, home, HistoryResult, _context)


def _context(details: HistoryResult, folder: PhaseFolder, result: PhaseResult) -> VerdictContext:
    return VerdictContext(
        facts=tuple(_facts(details).items()),
        stored_data=tuple(data_facts(folder).items()),
        progress=result.text.splitlines()[-1],
        bidders=_bidders(details),
        bidders_table=_MODEL_TABLE if details.model_based else _LOG_TABLE,
        pictures=read_pictures(folder),
    )


def _facts(details: HistoryResult) -> dict[str, str]:
    splits = details.splits
    windows = [
        f"{window.name} {window.first_day} to {window.last_day} ({window.campaigns} campaigns)"
        for window in splits.windows
    ]
    gaps = [gap.words for gap in details.fidelity.gaps_beyond_chance[:_GAPS_SHOWN]]
    facts = {
        "history": splits.history,
        "windows": "; ".join(windows),
        "look": f"{details.look} of 3 at this sealed window; each interval holds with {details.confidence:.1%}",
        "what the market gets wrong": " ".join(gaps) or "nothing beyond chance",
    }
    if details.model_based is not None:
        file = details.verdict.gate.file
        facts["rests on"] = (
            "the market alone (model-based): no decision of the log has a density, so the rules of"
            f" {file.path if file else details.verdict.gate.name} judged, which ask for more than those of gate history"
        )
    if details.lift is not None:
        facts["inside the log's support"] = (
            f"{details.lift.inside_share:.0%} of the agent's bids; the others are clipped"
        )
    if details.ranking is not None:
        facts["order of bidders"] = (
            f"rank correlation of market and log {details.ranking.spearman:.2f} over {len(details.ranking.policies)}"
            f" bidders; {'the same is best' if details.ranking.same_best else 'they differ on the best'}"
        )
    if not details.truth:
        facts["the platform's own bidding"] = "not known: no log of other bids says what it would have brought"
    if details.incumbent_lift is None and (details.model_based is None or details.model_based.incumbent_lift is None):
        facts["champion"] = "none yet: the logging policy is what runs today"
    for group in details.harmed:
        facts[f"{group.kind} {group.name}"] = f"would lose {-group.lift:.0%} of its value per dollar"
    return facts


def _bidders(details: HistoryResult) -> tuple[ComparedBidder, ...]:
    """Every bidder on the same logged decisions, best first, where there is a figure; then what was run again."""
    if details.model_based is not None:
        compared = [_in_market(lift) for lift in (details.model_based.lift, *details.model_based.rivals)]
        compared.append(
            _logged(details.model_based.lift.baseline_value_per_dollar, "The bids of the log, in the market.")
        )
    else:
        lifts = [*([details.lift] if details.lift else []), *details.rivals]
        compared = [bidder for lift in lifts if (bidder := _on_log(lift)) is not None]
        logged = [lift.judged.reference_value_per_dollar for lift in lifts]
        compared += [_logged(value, "What the log's own bids brought.") for value in logged[:1] if value is not None]
    ranked = sorted(compared, key=lambda bidder: -bidder.reward)
    return (*ranked, *(_run_again(result) for result in details.truth))


def _on_log(lift: PolicyLift) -> ComparedBidder | None:
    report = lift.judged
    if report.value_per_dollar is None or report.reference_value_per_dollar is None or report.lift_lower is None:
        return None
    logged = report.reference_value_per_dollar
    upper = report.lift_upper if report.lift_upper is not None else report.lift_lower
    return ComparedBidder(
        name=lift.policy,
        meaning=_meaning(lift.policy),
        reward=report.value_per_dollar,
        lower_95=logged * (1 + report.lift_lower),
        upper_95=logged * (1 + upper),
        money=((_LIFT, _percent(report.lift or 0.0, report.lift_lower, upper)),),
    )


def _in_market(lift: PosteriorLift) -> ComparedBidder:
    logged = lift.baseline_value_per_dollar
    return ComparedBidder(
        name=lift.policy,
        meaning=_meaning(lift.policy),
        reward=logged * (1 + lift.lift),
        lower_95=logged * (1 + lift.lift_lower),
        upper_95=logged * (1 + lift.lift_upper),
        money=((_LIFT, _percent(lift.lift, lift.lift_lower, lift.lift_upper)),),
    )


def _logged(value_per_dollar: float, meaning: str) -> ComparedBidder:
    return ComparedBidder(
        name=LOGGED_BIDS,
        meaning=meaning,
        reward=value_per_dollar,
        lower_95=None,
        upper_95=None,
        money=((_LIFT, "0, by definition"),),
    )


def _run_again(result: TrueResult) -> ComparedBidder:
    what = "The platform's own automated bidding" if result.is_automated else "The agent's bids"
    return ComparedBidder(
        name=f"{result.key}, run again",
        meaning=f"{what} on the sealed days, run again on the local ad platform: expected value, no estimate, and no"
        f" rule reads it. Spends {result.spend_share:.0%} of what the logged bids spend.",
        reward=result.value_per_dollar,
        lower_95=None,
        upper_95=None,
        money=((_LIFT, f"{result.lift:+.1%}"),),
    )


def _meaning(policy: str) -> str:
    if policy.startswith(LOGGED_BIDS):
        return "The bids of the log, all times the same factor."
    return _SUMMARIES.get(policy, "The agent that is judged here, or the champion.")


def _percent(value: float, lower: float, upper: float) -> str:
    return f"{value:+.1%} ({lower:+.1%} .. {upper:+.1%})"
