"""The flow `gaelp`: from simulation towards real money, one proven step at a time."""

from typing import Any

from prefect import flow

from flows.end_log import log_end
from flows.gate import pass_gates
from flows.run import ApprovalMode, GateClosed, begin, failure_on_record, flow_run_name
from gaelp.phases import declared

__all__ = ["gaelp"]


@flow(name="gaelp", flow_run_name=flow_run_name, persist_result=True, result_serializer="json")
def gaelp(
    config: str = "quick-test",
    overrides: list[str] | None = None,
    approval: ApprovalMode = "person",
    run_id: str | None = None,
) -> Any:
    """Run the declared phases, each behind its gate: an automatic verdict, then a person's approval.

    A run that was suspended or killed starts here again from the top; what it finished is not computed a second time,
    and what a person decided is not asked again.
    """
    run = begin(config, overrides or [], approval, run_id)
    try:
        with failure_on_record(run):
            passed = pass_gates(run, declared.phases_until(run.settings.run.until))
    except GateClosed as closed:
        log_end(run.flow_run_id, closed.sentence(run.run_id))
        return closed.state()
    return run.finished(*passed)
