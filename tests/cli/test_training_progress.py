"""Progress as lines outside a terminal, and as one line that never wraps inside one."""

import io

import pytest
from rich.console import Console

from gaelp.cli.training_progress import ProgressScreen
from gaelp.phases.stage_report import StageReport
from gaelp.training.reports import Resumed, RoundDone

FIGURES = {"approx_kl": 0.0123, "entropy": 1.5, "explained_variance": 0.9, "value_loss": 0.01, "loss": 0.5}


def round_done(number, rounds=15):
    return RoundDone(
        round=number,
        rounds=rounds,
        task="calm",
        steps=1000,
        steps_per_second=50_000.0,
        reward=0.9,
        metrics=FIGURES,
        skipped={},
        clipped_rewards=0,
    )


class Lines:
    """A screen that is no terminal, with a clock set by hand."""

    def __init__(self, capsys):
        self.now, self._capsys = 0.0, capsys
        self.screen = ProgressScreen(Console(file=io.StringIO()), clock=lambda: self.now)

    def said(self):
        return self._capsys.readouterr().err.splitlines()


@pytest.fixture
def lines(capsys):
    return Lines(capsys)


def test_the_total_is_known_from_the_first_line_and_a_line_with_the_eta_follows_every_ten_seconds(lines):
    lines.screen.report(StageReport("training", total=15, unit="round"))
    for number in range(1, 6):
        lines.now += 4
        lines.screen.report(round_done(number))
    assert lines.said() == [
        "training: round 0 of 15, 0 s so far",
        "training: round 3 of 15, ETA 48 s",
    ]


def test_a_stage_that_says_nothing_for_ten_seconds_is_repeated_with_its_time(lines):
    lines.screen.stage("starting Prefect")
    for _ in range(25):
        lines.now += 1
        lines.screen.tick()
    assert lines.said() == ["starting Prefect", "starting Prefect, 10 s so far", "starting Prefect, 20 s so far"]


def test_a_stage_that_takes_long_says_why(lines):
    lines.screen.report(StageReport("preparing to train", hint="the market is compiled"))
    lines.now = 12.0
    lines.screen.tick()
    lines.now = 30.0
    lines.screen.tick()
    assert lines.said() == [
        "preparing to train",
        "preparing to train: the market is compiled",
        "preparing to train, 12 s so far",
        "preparing to train, 30 s so far",
    ]


@pytest.mark.parametrize("columns", [40, 80])
def test_in_a_terminal_messages_wrap_between_words_and_names_are_not_cut(columns, tmp_path):
    file = io.StringIO()
    console = Console(file=file, width=columns, force_terminal=True, color_system=None, legacy_windows=False)
    name = "000026-step-921600-of-a-run-with-a-name-that-is-longer-than-a-line-of-the-terminal.safetensors"
    ProgressScreen(console).report(Resumed(tmp_path / name, 10, ("the newest one is damaged",)))
    words = file.getvalue().split()
    assert f"{name}." in words
    assert "damaged" in words


def test_rounds_of_an_earlier_process_do_not_flatter_the_eta(lines, tmp_path):
    lines.screen.report(StageReport("training", total=15, unit="round"))
    lines.screen.report(Resumed(tmp_path / "x", 10, ()))
    lines.now = 12.0
    lines.screen.report(round_done(11))
    assert lines.said()[-1] == "training: round 11 of 15, ETA 48 s"


def test_episodes_are_counted_with_their_unit(lines):
    lines.screen.report(StageReport("evaluating", 0, 5200, "episodes"))
    lines.now = 20.0
    lines.screen.report(StageReport("evaluating", 1300, 5200, "episodes"))
    assert lines.said()[-1] == "evaluating: 1,300 of 5,200 episodes, ETA 1 min 00 s"


@pytest.mark.parametrize("columns", [80, 170])
def test_in_a_terminal_the_bar_is_one_line_at_any_width(columns):
    file = io.StringIO()
    console = Console(file=file, width=columns, force_terminal=True, color_system=None, legacy_windows=False)
    screen = ProgressScreen(console)
    with screen.shown():
        screen.report(StageReport("training", total=15, unit="round"))
        screen.report(round_done(5))
        file.truncate(0)
        screen._bar.refresh()
        drawn = file.getvalue()
    shown = drawn.replace("\r", "\n").replace("\x1b[2K", "").strip("\x00\n")
    assert "training: round 5 of 15, ETA" in shown
    assert max(len(line) for line in shown.split("\n")) <= columns
    assert shown.count("training") == 1
    assert "…" not in shown, "a figure that does not fit is left out, not cut"
    assert "reward 0.900" in shown
