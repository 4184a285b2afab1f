"""People are alerted of a stop, its outcome and its release; a failed alert never undoes a stop."""

import pytest

from gaelp.bootstrap import kill_switch
from gaelp.budget.stop_alerts import alert_followup, alert_released, alert_stopped
from gaelp.config import load_settings
from gaelp.observability.alert_memory import FileMemory


@pytest.fixture
def settings(tmp_path):
    (tmp_path / "home").mkdir()
    named = ["platform.name=no-such-platform", "platform.account=acc"]
    return load_settings(None, overrides=[f"home={tmp_path / 'home'}", *named], environ={}).settings


def waiting(settings):
    pending = FileMemory(settings.home / "alerts.json").look().pending
    return {key: each.alert for (_, key), each in pending.items()}


def stopped(settings):
    switch = kill_switch(settings)
    switch.begin(by="ann", reason="a drill")
    return switch.wait(20)


def test_a_stop_that_is_not_complete_is_reported_as_such_with_what_to_do(settings):
    report = stopped(settings)
    assert alert_stopped(settings, report, by="ann", reason="a drill") == ()
    message = waiting(settings)[report.stop_id]
    assert message.title == "Spending is stopped in part: fence failed and pause failed"
    assert message.body.startswith("a drill (by ann). STOPPED IN PART")
    assert "pause them on the platform by hand, now" in message.body


def test_a_release_lets_all_alerts_about_its_stop_rest(settings):
    report = stopped(settings)
    alert_stopped(settings, report, by="ann", reason="a drill")
    alert_followup(settings, report, is_good=False)
    assert len(waiting(settings)) == 2
    assert alert_released(settings, [report.stop_id], "fixed") == ()
    assert waiting(settings) == {}


def test_an_alert_never_makes_the_home_which_without_a_latch_would_mean_go(settings, caplog):
    settings.home.rmdir()
    report = stopped(settings)
    assert not report.stopped
    assert alert_stopped(settings, report, by="ann", reason="a drill") == ()
    assert "Spending could NOT be stopped" in caplog.text
    assert not settings.home.exists()
