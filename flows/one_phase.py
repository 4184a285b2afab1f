"""One phase of a run by itself: do its work, show the verdict; no gate is passed and nothing follows."""

from pathlib import Path
from typing import Any

from flows.run import Run, failure_on_record
from gaelp.gates.decisions import CODE_LENGTH
from gaelp.phases.declaration import PhaseDeclaration
from gaelp.phases.looks import looks_so_far
from gaelp.phases.phase_result import PhaseResult, read_result
from tasks.phases import do_phase
from tasks.verdicts import show_verdict

__all__ = ["judge_alone"]


def judge_alone(run: Run, declared: PhaseDeclaration, previous: PhaseResult | None = None) -> dict[str, Any]:
    """Do the first attempt at a phase and show its verdict; returns what the flow returns."""
    with failure_on_record(run):
        assign = run.assign(declared, 1, previous)
        result = read_result(Path(do_phase(declared.phase, run.run_id, 1, 0, declared=declared, assign=assign)))
        code, looks = result.verdict.evidence_hash[:CODE_LENGTH], looks_so_far(run.settings, result)
        context = declared.context(result, run.settings.home)
        show_verdict(code, result.verdict.outcome, 1, looks, "", verdict=result.verdict, context=context)
    verdict = result.verdict
    return run.finished(result, state="Judged", reason=f"gate {verdict.gate.name} says {verdict.outcome}")
