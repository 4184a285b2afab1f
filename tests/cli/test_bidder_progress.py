import pytest
from rich.progress import Progress

from gaelp.cli.bidder_progress import LineProgress, _TimeLeftColumn, show_bidder_progress


class Clock:
    seconds = 0.0

    def __call__(self):
        return self.seconds


@pytest.fixture
def clock():
    return Clock()


def test_outside_a_terminal_the_total_is_said_first_and_short_work_says_no_more(capsys):
    with show_bidder_progress("Playing", 4) as progress:
        progress("cal")("mpc", 1, 1)
    assert capsys.readouterr() == ("", "Playing 4 bidders ...\n")


def test_long_work_says_every_few_seconds_how_far_it_is_and_what_is_left(capsys, clock):
    lines = LineProgress("Tuning", 12, clock)
    lines.start()
    for seconds, completed in ((9.0, 1.0), (20.0, 2.0), (25.0, 2.5), (200.0, 11.0)):
        clock.seconds = seconds
        lines.update(completed, "cal: mpc")
    assert capsys.readouterr().err.splitlines() == [
        "Tuning 12 bidders ...",
        "Tuning 2 of 12 bidders, about 1 min 40 s left (cal: mpc)",
        "Tuning 11 of 12 bidders, about 18 s left (cal: mpc)",
    ]


def test_the_time_left_is_shown_only_once_a_whole_bidder_or_a_tenth_of_the_work_is_done(capsys, clock):
    for total, steps in ((12, (0.1, 0.9, 1.5)), (4, (0.3, 0.5))):
        lines = LineProgress("Tuning", total, clock)
        lines.start()
        for completed in steps:
            clock.seconds += 20.0
            lines.update(completed, "cal: mpc")
    assert capsys.readouterr().err.splitlines() == [
        "Tuning 12 bidders ...",
        "Tuning 0 of 12 bidders (cal: mpc)",
        "Tuning 0 of 12 bidders (cal: mpc)",
        "Tuning 1 of 12 bidders, about 7 min 00 s left (cal: mpc)",
        "Tuning 4 bidders ...",
        "Tuning 0 of 4 bidders (cal: mpc)",
        "Tuning 0 of 4 bidders, about 4 min 40 s left (cal: mpc)",
    ]


@pytest.mark.parametrize(("completed", "blank"), [(0.5, True), (1.0, False)])
def test_the_bar_of_a_terminal_leaves_the_time_left_blank_until_then(completed, blank):
    with Progress(disable=True) as bar:
        bar.update(bar.add_task("Tuning", total=12), completed=completed)
    assert (str(_TimeLeftColumn().render(bar.tasks[0])) == "") is blank
