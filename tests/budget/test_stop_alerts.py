"""People are told of a stop, of what became of it and of its release; and telling them undoes no stop."""

import pytest

from gaelp.bootstrap import kill_switch
from gaelp.budget.stop_alerts import tell_end, tell_released, tell_stopped
from gaelp.config import load_settings
from gaelp.observability.alert_memory import FileMemory


@pytest.fixture
def settings(tmp_path):
    (tmp_path / "home").mkdir()
    named = ["platform.name=no-such-platform", "platform.account=acc"]
    return load_settings(None, overrides=[f"home={tmp_path / 'home'}", *named], environ={}).settings


def waiting(settings):
    pending = FileMemory(settings.home / "alerts.json").look().pending
    return {key: one.alert for (_, key), one in pending.items()}


def stopped(settings):
    switch = kill_switch(settings)
    switch.begin(by="ann", reason="a drill")
    return switch.wait(20)


def test_a_stop_that_is_not_complete_is_told_as_such_with_what_to_do(settings):
    report = stopped(settings)
    assert tell_stopped(settings, report, by="ann", reason="a drill") == ()
    told = waiting(settings)[report.stop_id]
    assert told.title == "Spending is stopped in part: fence failed and pause failed"
    assert told.body.startswith("a drill (by ann). STOPPED IN PART")
    assert "pause them on the platform by hand, now" in told.body


def test_a_release_lets_all_alerts_about_its_stop_rest(settings):
    report = stopped(settings)
    tell_stopped(settings, report, by="ann", reason="a drill")
    tell_end(settings, report, is_good=False)
    assert len(waiting(settings)) == 2
    assert tell_released(settings, [report.stop_id], "mended") == ()
    assert waiting(settings) == {}


def test_an_alert_never_makes_the_home_which_without_a_latch_would_mean_go(settings, caplog):
    settings.home.rmdir()
    report = stopped(settings)
    assert not report.stopped
    assert tell_stopped(settings, report, by="ann", reason="a drill") == ()
    assert "Spending could NOT be stopped" in caplog.text
    assert not settings.home.exists()
