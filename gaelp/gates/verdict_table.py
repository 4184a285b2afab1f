"""A verdict for people to read: rows of a table, and a page of markdown."""

import base64
import math
import re
from typing import NamedTuple

from gaelp.checks.number_text import number_text
from gaelp.gates.approval_effect import approval_effect
from gaelp.gates.decisions import CODE_LENGTH
from gaelp.gates.verdict import RuleResult, Verdict
from gaelp.gates.verdict_context import BIDDERS_PLAYED, LearningCurve, Picture, VerdictContext

__all__ = ["Measured", "as_markdown", "as_rows", "asked_text", "decision_text", "failed_text", "measured", "plain_text"]

_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|!])")
_COMPARED = {"value": "", "lower_95": "lower bound ", "upper_95": "upper bound "}
_NOTHING_MORE = VerdictContext()


class Measured(NamedTuple):
    """What evidence holds of a metric; None: missing or not a number."""

    value: float | None
    lower_95: float | None
    upper_95: float | None

    @property
    def text(self) -> str:
        """The value, with its interval where there is one."""
        return _with_ends(*self)


def measured(verdict: Verdict, metric: str) -> Measured:
    """The figures of a metric; an end of its interval may be infinite."""
    figures = (verdict.evidence.metrics.get(f"{metric}{end}") for end in ("", "_lower_95", "_upper_95"))
    return Measured(*(None if figure is None or math.isnan(figure) else figure for figure in figures))


def asked_text(result: RuleResult) -> str:
    """What a rule asks for, such as `lower bound at least 0.7`."""
    rule = result.criterion
    return f"{_COMPARED[rule.compare]}{rule.limit.words} {number_text(rule.threshold)}"


def _with_ends(value: float | None, lower: float | None, upper: float | None) -> str:
    """Four decimals are enough to look at; the reason of a rule that does not hold has them all."""
    value_text, *ends = (_number(None if figure is None else round(figure, 4)) for figure in (value, lower, upper))
    return value_text if lower is None and upper is None else f"{value_text} ({' .. '.join(ends)})"


def as_rows(verdict: Verdict) -> list[dict[str, str]]:
    """One row for each rule, in the order of the gate; every cell is text."""
    return [_row(result) for result in verdict.results]


def as_markdown(
    verdict: Verdict,
    context: VerdictContext = _NOTHING_MORE,
    *,
    rules_plot: bytes | None = None,
    curve_plot: bytes | None = None,
) -> str:
    """The verdict as a page, what a decision needs first; long text is in lists, which wrap where a table scrolls."""
    parts = [
        *_head(verdict, context),
        *_section("What was judged", _facts(verdict, context)),
        *_section("Rules", _rules(verdict, rules_plot)),
        *_section("Stored data", [f"- {plain_text(label)}: {plain_text(text)}" for label, text in context.stored_data]),
        *_section(context.bidders_table.title, _bidders(context)),
        *(line for picture in context.pictures for line in _section(picture.title, _shown(picture))),
        *_section("Learning curve", _curve(context.curve, curve_plot)),
        *_section("Record", _record(verdict)),
    ]
    return "\n".join([*parts, ""])


def plain_text(text: str) -> str:
    """Text that markdown shows as it is: a name cannot open a column, a link or a tag."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def _head(verdict: Verdict, context: VerdictContext) -> list[str]:
    effect = approval_effect(verdict.gate.follows)
    approval = (
        [f"- **Approving allows** {effect.allows}.", f"- **Approving does not allow** {effect.does_not_allow}."]
        if verdict.outcome == "pass"
        else ["- **It cannot be approved**: only a verdict that passed can."]
    )
    return [
        f"## Gate {verdict.gate.name}: {verdict.outcome.upper()}",
        "",
        plain_text(verdict.summary),
        "",
        *([f"**{plain_text(context.progress)}**", ""] if context.progress else []),
        *approval,
        f"- **Code of this verdict**, which an answer has to name: `{verdict.evidence_hash[:CODE_LENGTH]}`",
    ]


def decision_text(verdict: Verdict, progress: str) -> list[str]:
    """What a person needs for a decision, as on the page: the summary, whether it learned, what approving means."""
    lines = [verdict.summary, *([progress] if progress else [])]
    if verdict.outcome != "pass":
        return [*lines, "It cannot be approved: only a verdict that passed can."]
    effect = approval_effect(verdict.gate.follows)
    return [*lines, f"Approving allows {effect.allows}.", f"Approving does not allow {effect.does_not_allow}."]


def failed_text(verdict: Verdict) -> str:
    """The summary, and the reason of every rule that does not hold."""
    reasons = [f"{result.criterion.metric}: {result.reason}." for result in verdict.results if result.outcome != "pass"]
    return " ".join([verdict.summary, *reasons])


def _section(title: str, lines: list[str]) -> list[str]:
    return ["", f"### {title}", "", *lines] if lines else []


def _facts(verdict: Verdict, context: VerdictContext) -> list[str]:
    evidence = verdict.evidence
    learned = "yes" if evidence.learned else "no, a tuned rule"
    facts = [("run", evidence.run_id), ("agent", f"{evidence.agent}, learned: {learned}"), *context.facts]
    return [f"- {label}: {plain_text(text)}" for label, text in facts]


def _rules(verdict: Verdict, plot: bytes | None) -> list[str]:
    picture = _picture("Every rule with its interval and its threshold", plot)
    return [*picture, *(_rule(verdict, result) for result in verdict.results)]


def _rule(verdict: Verdict, result: RuleResult) -> str:
    rule = result.criterion
    sample = f"{_number(result.sample)} {rule.sample_metric}"
    figures = f"{measured(verdict, rule.metric).text} from {sample}; asked: {asked_text(result)}."
    said = figures if result.outcome == "pass" else f"{result.reason}."
    return f"- **{plain_text(rule.metric)}: {result.outcome}.** {plain_text(said)} *Why:* {plain_text(rule.why)}"


def _bidders(context: VerdictContext) -> list[str]:
    if not context.bidders:
        return []
    columns = tuple(label for label, _ in context.bidders[0].money)
    rows = [("bidder", context.bidders_table.measure, *columns), ("---",) * (2 + len(columns))]
    for bidder in context.bidders:
        reward = _with_ends(bidder.reward, bidder.lower_95, bidder.upper_95)
        rows.append((plain_text(bidder.name), reward, *(plain_text(text) for _, text in bidder.money)))
    meanings = [f"- **{plain_text(bidder.name)}**: {plain_text(bidder.meaning)}" for bidder in context.bidders]
    is_played = context.bidders_table == BIDDERS_PLAYED
    money = " Money: means of a campaign, in units of the account's currency." if columns and is_played else ""
    return [
        f"{plain_text(context.bidders_table.text)}{money}",
        "",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
        *meanings,
    ]


def _shown(picture: Picture) -> list[str]:
    return [*_picture(picture.title, picture.png), plain_text(picture.text)]


def _curve(curve: LearningCurve | None, plot: bytes | None) -> list[str]:
    if curve is None:
        return []
    shown = next((point for point in curve.points if point.round == curve.chosen_round), curve.points[-1])
    which = "the checkpoint that was judged" if shown.round == curve.chosen_round else "the last validation"
    text = f"{curve.measure}. Round {shown.round}, {which}: {_with_ends(shown.value, shown.lower_95, shown.upper_95)}."
    return [*_picture("Learning curve", plot), plain_text(text)]


def _record(verdict: Verdict) -> list[str]:
    evidence, file = verdict.evidence, verdict.gate.file
    return [
        f"- measured {evidence.measured_at:%Y-%m-%d %H:%M:%S} UTC, judged {verdict.judged_at:%Y-%m-%d %H:%M:%S} UTC",
        f"- rules: {plain_text(file.text) if file else 'of a file that was not recorded'}",
        *([f"- hash of the rules: {file.sha256}"] if file else []),
        f"- configuration: {plain_text(evidence.config_hash)}",
        f"- evidence: {verdict.evidence_hash}",
    ]


def _picture(title: str, png: bytes | None) -> list[str]:
    return [] if png is None else [f"![{title}](data:image/png;base64,{base64.b64encode(png).decode('ascii')})", ""]


def _row(result: RuleResult) -> dict[str, str]:
    rule = result.criterion
    return {
        "rule": rule.metric,
        "outcome": result.outcome,
        "value": _number(result.value),
        "compared": f"{rule.compare}: {_number(result.compared)}",
        "threshold": f"{rule.limit.sign} {number_text(rule.threshold)}",
        "sample": f"{_number(result.sample)} {rule.sample_metric} (at least {rule.minimum_sample})",
        "reason": result.reason,
        "why": rule.why,
    }


def _number(value: float | None) -> str:
    return "none" if value is None else number_text(value)
