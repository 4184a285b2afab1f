"""What no bidder reached on a market: rules of the first gate that fail because of the market, and what would help."""

from collections.abc import Callable, Iterator, Mapping

from gaelp.gates import Criterion, Gate
from gaelp.market.baselines.compare import Comparison, Estimate, PolicyResult

__all__ = ["market_limits"]

# The other rules compare with the best rule, which can be reached by bidding as it does.
_MEASURED: Mapping[str, Callable[[PolicyResult], Estimate]] = {
    "reward": lambda result: result.reward,
    "lead_over_constant": lambda result: result.lead_over_constant,
}
_HELPS = {
    "reward": (
        "What would help: more to learn from (more impressions an hour, longer flights, values reported sooner), better"
        " forecasts at launch, or calmer prices: the optimum knows every price beforehand. Otherwise give this market a"
        " lower floor in a gate file of its own (gate.files.simulation)"
    ),
    "lead_over_constant": (
        "What would help: nothing an agent can learn, since a constant bid is nearly the best there is here. Keep it,"
        " or judge on a market whose values and prices differ more between hours and segments"
    ),
}


def market_limits(gate: Gate, comparison: Comparison) -> tuple[str, ...]:
    """A sentence for each rule that no bidder of the comparison reached, or only one that knows more than the agent."""
    return tuple(_limits(gate, comparison))


def _limits(gate: Gate, comparison: Comparison) -> Iterator[str]:
    for rule in gate.criteria:
        if rule.metric not in _MEASURED:
            continue
        reached = [result for result in comparison.results if _holds(rule, result)]
        if not reached:
            yield _unreached(rule, max(comparison.results, key=lambda result: _figure(rule, result)))
        elif all(result.informed for result in reached):
            yield _reached_with_more(rule, max(reached, key=lambda result: _figure(rule, result)))


def _figure(rule: Criterion, result: PolicyResult) -> float:
    estimate = _MEASURED[rule.metric](result)
    return float(getattr(estimate, rule.compare)) if rule.compare != "value" else estimate.value


def _holds(rule: Criterion, result: PolicyResult) -> bool:
    return rule.limit.holds(_figure(rule, result))


def _unreached(rule: Criterion, best: PolicyResult) -> str:
    return (
        f"No bidder reached a {rule.figure} of {rule.threshold:g} on this market; the best, {best.policy}, has"
        f" {_figure(rule, best):.3f}. {_HELPS[rule.metric]}."
    )


def _reached_with_more(rule: Criterion, best: PolicyResult) -> str:
    return (
        f"Only a bidder that knows more than the agent reached a {rule.figure} of {rule.threshold:g} on this market:"
        f" {best.policy} with {_figure(rule, best):.3f}. What would help: longer training, since what it knows can be"
        " learned."
    )
