"""Phase 2 alone, as a deployment of its own: judge the agent of a run that passed gate 1; no gate is passed."""

from pathlib import Path
from typing import Any

from prefect import flow

from flows.long_phases import proven_before
from flows.run import failure_on_record, join
from gaelp.gates.decisions import CODE_LENGTH
from gaelp.phases.history_declaration import HISTORY
from gaelp.phases.looks import looks_so_far
from gaelp.phases.phase_result import read_result
from tasks.phases import do_phase
from tasks.verdicts import show_verdict

__all__ = ["history"]


@flow(name="history", flow_run_name="{run_id}-history", persist_result=True, result_serializer="json")
def history(run_id: str, previous: str, config: str = "quick-test", overrides: list[str] | None = None) -> Any:
    """Judge on logged campaigns the agent of a run whose first gate was passed; `previous` is the file of its result.

    It takes one of the three looks at the sealed window. Nothing follows from the verdict.
    """
    run = join(config, overrides or [], run_id)
    with failure_on_record(run):
        assign = run.assign(HISTORY, 1, proven_before(run, HISTORY, previous))
        result = read_result(Path(do_phase(HISTORY.phase, run.run_id, 1, 0, declared=HISTORY, assign=assign)))
        code, looks = result.verdict.evidence_hash[:CODE_LENGTH], looks_so_far(run.settings, result)
        context = HISTORY.context(result, run.settings.home)
        show_verdict(code, result.verdict.outcome, 1, looks, "", verdict=result.verdict, context=context)
    verdict = result.verdict
    return run.finished(result, state="Judged", reason=f"gate {verdict.gate.name} says {verdict.outcome}")
