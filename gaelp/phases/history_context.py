"""What to show beside the verdict on phase 2, read from the records of the run."""

from pathlib import Path

from gaelp.gates.verdict_context import ComparedBidder, VerdictContext
from gaelp.history.logged_lift import PolicyLift
from gaelp.phases.data_evidence import data_facts
from gaelp.phases.history_result import HistoryResult
from gaelp.phases.phase_result import PhaseResult

__all__ = ["history_context"]

_GAPS_SHOWN = 3


def history_context(result: PhaseResult, home: Path) -> VerdictContext:
    """Facts and bidders of an attempt. A file that cannot be read is named; it closes no gate."""
    folder = result.folder(home)
    try:
        details = HistoryResult.model_validate_json(folder.details.read_bytes())
    except (OSError, ValueError) as problem:  # pydantic's own error is a ValueError
        first = (str(problem).splitlines() or [type(problem).__name__])[0]
        return VerdictContext(facts=(("records of the run", f"cannot be read: {first}"),))
    return VerdictContext(
        facts=tuple(_facts(details).items()),
        stored_data=tuple(data_facts(folder).items()),
        progress=result.text.splitlines()[-1],
        bidders=_bidders(details),
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
    if details.lift is not None:
        facts["inside the log's support"] = (
            f"{details.lift.inside_share:.0%} of the agent's bids; the others are clipped"
        )
    if details.incumbent_lift is None:
        facts["champion"] = "none yet: the logging policy is what runs today"
    for group in details.harmed:
        facts[f"{group.kind} {group.name}"] = f"would lose {-group.lift:.0%} of its value per dollar"
    return facts


def _bidders(details: HistoryResult) -> tuple[ComparedBidder, ...]:
    """Value per dollar of every bidder on the same logged decisions, best first."""
    lifts = [*([details.lift] if details.lift else []), *details.rivals]
    compared = [bidder for lift in lifts if (bidder := _bidder(lift)) is not None]
    return tuple(sorted(compared, key=lambda bidder: -bidder.reward))


def _bidder(lift: PolicyLift) -> ComparedBidder | None:
    report = lift.judged
    if report.value_per_dollar is None or report.reference_value_per_dollar is None or report.lift_lower is None:
        return None
    logged = report.reference_value_per_dollar
    upper = report.lift_upper if report.lift_upper is not None else report.lift_lower
    return ComparedBidder(
        name=lift.policy,
        meaning="Value per dollar on the sealed window, of bids within the log's support.",
        reward=report.value_per_dollar,
        lower_95=logged * (1 + report.lift_lower),
        upper_95=logged * (1 + upper),
    )
