"""Asynchronous reports: started by a POST to insights, read by their id."""

from collections.abc import Mapping
from typing import Any

from gaelp.sandbox.meta.account_objects import AccountObjects, Node
from gaelp.sandbox.meta.insight_query import InsightQuery
from gaelp.sandbox.meta.node_types import REPORT_RUN

__all__ = ["start_report", "view_report"]


def start_report(
    objects: AccountObjects, scope: Node | None, parameters: Mapping[str, str], query: InsightQuery
) -> dict[str, Any]:
    """Keep the question of a report; its rows are those at the time they are read."""
    body = {
        "parameters": dict(parameters),
        "scope": scope.id if scope else 0,
        "date_start": query.windows[0][0].isoformat(),
        "date_stop": query.windows[-1][1].isoformat(),
    }
    return {"report_run_id": str(objects.create(REPORT_RUN, body).id)}


def view_report(objects: AccountObjects, run: Node) -> dict[str, Any]:
    """The state of a report; it is complete at once, because simulated time may be stopped."""
    return {
        "id": str(run.id),
        "account_id": objects.account.id,
        "async_status": "Job Completed",
        "async_percent_completion": 100,
        "is_running": False,
        "date_start": run.body["date_start"],
        "date_stop": run.body["date_stop"],
    }
