"""Phase 1 alone, as a deployment of its own: train and see the verdict; no gate is passed."""

from pathlib import Path
from typing import Any

from prefect import flow

from flows.run import begin, failure_on_record, flow_run_name
from gaelp.gates.decisions import CODE_LENGTH
from gaelp.phases.looks import looks_so_far
from gaelp.phases.phase_result import read_result
from gaelp.phases.simulation_declaration import SIMULATION
from tasks.phases import do_phase
from tasks.verdicts import show_verdict

__all__ = ["simulation"]


@flow(name="simulation", flow_run_name=flow_run_name, persist_result=True, result_serializer="json")
def simulation(config: str = "quick-test", overrides: list[str] | None = None, run_id: str | None = None) -> Any:
    """Train an agent and judge it; nothing follows from the verdict."""
    run = begin(config, overrides or [], "person", run_id)
    with failure_on_record(run):
        assign = run.assign(SIMULATION, 1, None)
        result = read_result(Path(do_phase(SIMULATION.phase, run.run_id, 1, 0, declared=SIMULATION, assign=assign)))
        code, looks = result.verdict.evidence_hash[:CODE_LENGTH], looks_so_far(run.settings, result)
        context = SIMULATION.context(result, run.settings.home)
        show_verdict(code, result.verdict.outcome, 1, looks, "", verdict=result.verdict, context=context)
    verdict = result.verdict
    return run.finished(result, state="Judged", reason=f"gate {verdict.gate.name} says {verdict.outcome}")
