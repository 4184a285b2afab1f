import pytest

from gaelp.cli.bidder_progress import LineProgress, show_bidder_progress


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
        "Tuning 2.0 of 12 bidders, about 2 min left (cal: mpc)",
        "Tuning 11.0 of 12 bidders, about 18 s left (cal: mpc)",
    ]
