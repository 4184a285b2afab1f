"""Phase 2 alone, as a deployment of its own: judge the agent of a run that passed gate 1; no gate is passed."""

from typing import Any

from prefect import flow

from flows.long_phases import proven_before
from flows.one_phase import judge_alone
from flows.run import failure_on_record, join
from gaelp.phases.history_declaration import HISTORY

__all__ = ["history"]


@flow(name="history", flow_run_name="{run_id}-history", persist_result=True, result_serializer="json")
def history(run_id: str, previous: str, config: str = "quick-test", overrides: list[str] | None = None) -> Any:
    """Judge on logged campaigns the agent of a run whose first gate was passed; `previous` is the file of its result.

    It takes one of the three looks at the sealed window. Nothing follows from the verdict.
    """
    run = join(config, overrides or [], run_id)
    with failure_on_record(run):
        proven = proven_before(run, HISTORY, previous)
    return judge_alone(run, HISTORY, proven)
