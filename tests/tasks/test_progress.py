"""Reports of a phase reach the bar in Prefect, the log and the terminal, each as often as it should be."""

import logging
from contextlib import contextmanager

import httpx
import pytest

import tasks.progress
from gaelp.phases.stage_report import StageReport
from gaelp.training.reports import RoundDone
from tasks.progress import Bar, announce, report_progress, screen_paused, shown_on


class Screen:
    def __init__(self):
        self.reports, self.is_paused = [], False

    def report(self, report):
        self.reports.append(report)

    @contextmanager
    def paused(self):
        self.is_paused = True
        yield
        self.is_paused = False


@pytest.fixture
def moved(monkeypatch):
    """The percentages that the server was sent."""
    sent = []
    monkeypatch.setattr(tasks.progress, "create_progress_artifact", lambda **_: "id")
    monkeypatch.setattr(tasks.progress, "update_progress_artifact", lambda artifact_id, progress: sent.append(progress))
    monkeypatch.setattr(tasks.progress, "get_run_logger", lambda: logging.getLogger("tests"))
    return sent


def round_done(number):
    figures = {"reward": 0.9, "metrics": {}, "skipped": {}, "clipped_rewards": 0}
    return RoundDone(round=number, rounds=4, task="calm", steps=1, steps_per_second=1.0, **figures)


def test_the_bar_is_moved_every_few_seconds_and_always_at_the_end(moved):
    times = iter([0.0, 1.0, 6.0, 6.0, 7.0, 7.0])
    bar = Bar("key", "rounds", clock=lambda: next(times))
    for share in (0.25, 0.5, 1.0):
        bar.move(share)
    assert moved == [50.0, 100.0]


def test_work_continues_while_the_server_is_away(moved, monkeypatch):
    def away(**_):
        raise httpx.ConnectError("no server")

    monkeypatch.setattr(tasks.progress, "update_progress_artifact", away)
    Bar("key", "rounds").move(1.0)


def test_a_stage_is_logged_once_and_every_report_reaches_the_terminal(moved, caplog):
    caplog.set_level(logging.INFO)
    reports = [StageReport("evaluating", done, 200, "episodes") for done in (0, 100, 200)]
    screen = Screen()
    with shown_on(screen):
        show = report_progress("key")
        for report in (*reports, round_done(4)):
            show(report)
    assert screen.reports == [*reports, round_done(4)]
    assert [record.message for record in caplog.records] == ["evaluating"]
    assert moved == [100.0]


def test_without_a_terminal_nothing_is_announced_or_paused():
    screen = Screen()
    announce("judging gate simulation")
    with screen_paused():
        assert not screen.is_paused
    with shown_on(screen):
        announce("judging gate simulation")
        with screen_paused():
            assert screen.is_paused
    assert screen.reports == [StageReport("judging gate simulation")]
