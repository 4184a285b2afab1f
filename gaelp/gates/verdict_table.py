"""A verdict for people to read: rows of a table, and a page of markdown."""

import re

from gaelp.gates.verdict import RuleResult, Verdict

__all__ = ["as_markdown", "as_rows"]

_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|!])")


def as_rows(verdict: Verdict) -> list[dict[str, str]]:
    """One row for each rule, in the order of the gate; every cell is text."""
    return [_row(result) for result in verdict.results]


def as_markdown(verdict: Verdict) -> str:
    """The verdict as a page: what was judged, the summary, the table and the hash an approval refers to."""
    evidence = verdict.evidence
    rows = as_rows(verdict)
    head = [f"## Gate {verdict.gate.name}: {verdict.outcome.upper()}", "", _plain(verdict.summary), ""]
    about = [
        f"- run: {_plain(evidence.run_id)}, agent: {_plain(evidence.agent)}, learned: {_yes(evidence.learned)}",
        f"- measured {evidence.measured_at:%Y-%m-%d %H:%M:%S} UTC, judged {verdict.judged_at:%Y-%m-%d %H:%M:%S} UTC",
        f"- rules: {_plain(verdict.gate.file.text) if verdict.gate.file else 'of a file that was not recorded'}",
        f"- configuration: {_plain(evidence.config_hash)}",
        f"- evidence: {verdict.evidence_hash}",
        "",
    ]
    table = [_line({key: key for key in rows[0]}), _line(dict.fromkeys(rows[0], "---"))]
    table += [_line({key: _plain(cell) for key, cell in row.items()}) for row in rows]
    return "\n".join([*head, *about, *table, ""])


def _row(result: RuleResult) -> dict[str, str]:
    rule = result.criterion
    return {
        "rule": rule.metric,
        "outcome": result.outcome,
        "value": _number(result.value),
        "compared": f"{rule.compare}: {_number(result.compared)}",
        "threshold": f"{rule.limit.sign} {rule.threshold:g}",
        "sample": f"{_number(result.sample)} of {rule.minimum_sample} {rule.sample_metric}",
        "reason": result.reason,
        "why": rule.why,
    }


def _line(cells: dict[str, str]) -> str:
    return f"| {' | '.join(cells.values())} |"


def _number(value: float | None) -> str:
    return "none" if value is None else f"{round(value, 9) + 0.0:.6g}"


def _yes(flag: bool) -> str:
    return "yes" if flag else "no, a tuned rule"


def _plain(text: str) -> str:
    """Text that markdown shows as it is: a name cannot open a column, a link or a tag."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))
