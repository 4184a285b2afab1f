"""Gates between the phases: rules as data, verdicts that never pass in doubt, and sequential tests."""

from gaelp.gates.criteria import Criterion, Gate, load_gate
from gaelp.gates.evidence import Evidence
from gaelp.gates.judge import check_replay, judge
from gaelp.gates.verdict import RuleResult, Verdict, evidence_hash
from gaelp.gates.verdict_table import as_markdown, as_rows

__all__ = [
    "Criterion",
    "Evidence",
    "Gate",
    "RuleResult",
    "Verdict",
    "as_markdown",
    "as_rows",
    "check_replay",
    "evidence_hash",
    "judge",
    "load_gate",
]
