"""Every run judged on the same data is counted, also those that failed and those from before there were phases."""

from datetime import UTC, datetime, timedelta

import pytest

from gaelp.phases.looks import look_text, looks_so_far
from gaelp.phases.phase_result import write_result

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


@pytest.fixture
def judged(make_result, tmp_path):
    def make(run_id, minutes=0, **more):
        result = make_result(run_id, measured_at=NOW + timedelta(minutes=minutes), **more)
        write_result(tmp_path, result)
        return result

    return make


def test_fresh_runs_count_in_the_order_in_which_they_were_judged(judged, tmp_path):
    runs = [judged(f"run-{number}", number) for number in range(4)]
    assert [looks_so_far(tmp_path, run) for run in runs] == [1, 2, 3, 4]


def test_a_run_that_failed_was_a_look_too(judged, tmp_path):
    failed = judged("first", metrics={"reward_lower_95": 0.1})
    assert failed.verdict.outcome == "fail"
    assert looks_so_far(tmp_path, judged("second", 1)) == 2


def test_other_data_and_other_phases_do_not_count(judged, tmp_path):
    judged("elsewhere", judged_on="another window")
    judged("later", 5)
    assert looks_so_far(tmp_path, judged("mine", 1)) == 1


def test_the_same_run_looked_at_again_is_one_run(judged, tmp_path):
    judged("mine", attempt=2)
    assert looks_so_far(tmp_path, judged("mine", 1)) == 1


def test_a_result_that_cannot_be_read_counts(judged, tmp_path):
    judged("broken").file(tmp_path).write_text("{", encoding="utf-8")
    assert looks_so_far(tmp_path, judged("mine", 1)) == 2


@pytest.mark.parametrize(
    ("looks", "text"),
    [(1, "the first run"), (2, "the 2nd"), (3, "the 3rd"), (4, "the 4th"), (11, "the 11th"), (112, "the 112th")],
)
def test_it_is_said_as_people_say_it(looks, text):
    assert look_text(looks).startswith(text)
