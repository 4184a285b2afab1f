"""The safety watch against a server that runs: an alert arrives there as an event."""

from datetime import UTC, datetime, timedelta

from gaelp.observability.alerts import Alert

WATCH = """
import os
os.environ["GAELP_HOME"] = {home!r}
from flows.safety_watch import safety_watch
from gaelp.errors import GaelpError
try:
    safety_watch(overrides=["platform.name=nowhere", "platform.account=acc"])
except GaelpError as problem:
    print(problem)
"""


def alerts(pipeline):
    """What the server has of critical alerts, as (event, alert), the newest first."""
    now = datetime.now(UTC)
    span = {"since": (now - timedelta(hours=1)).isoformat(), "until": (now + timedelta(minutes=5)).isoformat()}
    asked = {"filter": {"occurred": span, "event": {"name": ["gaelp.alert.critical"]}}, "limit": 50}
    events = pipeline.post("/events/filter", asked)["events"]
    return [(event, Alert.model_validate(event["payload"])) for event in events]


def test_an_alert_of_the_watch_arrives_at_the_server_as_an_event(pipeline, tmp_path):
    def arrived():
        return [pair for pair in alerts(pipeline) if "there is no platform 'nowhere'" in pair[1].body]

    assert arrived() == []
    assert "there is no platform 'nowhere'" in pipeline.python(WATCH.format(home=str(tmp_path)))
    pipeline.until(arrived, 60, "the event of the alert")
    [(event, alert)] = arrived()
    assert event["resource"]["prefect.resource.id"] == f"gaelp.alert.{alert.source}.{alert.key}"
    assert (alert.severity, alert.key) == ("critical", "part/reconciliation")
    assert datetime.fromisoformat(event["occurred"]) >= alert.at
