import pytest

from gaelp.cli.time_left import TimeLeft, duration_text


def left(total, *reports, now=None):
    estimate = TimeLeft(total, reports[0][1], reports[0][0])
    for at, done in reports[1:]:
        estimate.note(done, at)
    return estimate.seconds(reports[-1][0] if now is None else now)


def test_nothing_done_is_no_estimate():
    assert left(10, (0, 0), now=60) is None
    assert left(10, (0, 4), now=60) is None


def test_the_first_unit_is_enough_for_an_estimate_and_no_longer_counts_after_the_second():
    assert left(11, (0, 0), (90, 1)) == 900
    assert left(11, (0, 0), (90, 1), (92, 2)) == 18


def test_time_since_the_last_report_shortens_the_rest_and_never_below_nothing():
    assert left(3, (0, 0), (9, 1), (19, 2), now=23) == 6
    assert left(3, (0, 0), (9, 1), (19, 2), now=60) == 0


def test_only_the_recent_speed_counts():
    slow = [(10.0 * number, number) for number in range(31)]
    fast = [(300.0 + number, 30 + number) for number in range(1, 31)]
    assert left(70, *slow, *fast) == pytest.approx(10)


def test_after_a_rollback_the_measurement_begins_again():
    assert left(10, (0, 0), (5, 5), (6, 3)) is None
    assert left(10, (0, 0), (5, 5), (6, 3), (8, 4)) == 12


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0 s"), (59, "59 s"), (185, "3 min 05 s"), (7800, "2 h 10 min")])
def test_a_duration_is_written_as_people_read_it(seconds, text):
    assert duration_text(seconds) == text
