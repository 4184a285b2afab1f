"""The safety watch as a flow: every few minutes, and failed if a part of it failed."""

from functools import partial
from typing import Any

from prefect import flow
from prefect.events import emit_event
from prefect.logging import get_run_logger

from gaelp.clock import SystemClock
from gaelp.config import known_secrets, load_settings
from gaelp.errors import GaelpError
from gaelp.guard_bootstrap import opened_guard
from gaelp.observability import register_secrets
from gaelp.observability.alert_channels import CallableChannel
from gaelp.observability.alerts import Alert
from gaelp.phases.safety_watch import WatchReport, watch

__all__ = ["prefect_events", "safety_watch"]


@flow(name="safety-watch", flow_run_name="safety-watch", persist_result=True, result_serializer="json")
def safety_watch(config: str = "quick-test", overrides: list[str] | None = None) -> Any:
    """Send alerts about what is left unattended, reconcile ledger and platform, and apply the money rules."""
    settings, events = load_settings(config, overrides=overrides or ()).settings, (prefect_events(),)
    register_secrets(known_secrets())
    open_guard = partial(opened_guard, settings, more_channels=events)
    return _shown(watch(settings, clock=SystemClock(), open_guard=open_guard, more_channels=events))


def prefect_events() -> CallableChannel:
    """Every alert as an event of Prefect, for automations and its UI."""
    return CallableChannel("prefect-event", _emit)


def _emit(alert: Alert) -> None:
    emit_event(
        event=f"gaelp.alert.{alert.severity}",
        resource={"prefect.resource.id": f"gaelp.alert.{alert.source}.{alert.key}"},
        payload=alert.model_dump(mode="json"),
    )


def _shown(report: WatchReport) -> dict[str, Any]:
    """The report; the run fails if a part of the watch did."""
    for text in (*report.gates, *report.approvals, *_held(report)):
        get_run_logger().warning(text)
    if report.failures:
        raise GaelpError("; ".join(report.failures))
    return report.model_dump(mode="json")


def _held(report: WatchReport) -> list[str]:
    """The campaigns that the money rules hold or kill."""
    verdicts = report.money_rules.verdicts if report.money_rules else {}
    return [f"{campaign}: {said}" for campaign, said in verdicts.items() if said.startswith(("hold", "kill"))]
