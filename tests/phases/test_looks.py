"""Every run judged on the same data is counted, also those that failed and those from before there were phases."""

from datetime import UTC, datetime, timedelta

import pytest

from gaelp.approvals import AuditLog, approvals_place, open_database
from gaelp.config import load_settings
from gaelp.phases.looks import LOOK, look_text, looks_so_far
from gaelp.phases.phase_result import write_result

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


@pytest.fixture
def settings(tmp_path):
    return load_settings(None, environ={}, overrides=[f"home={tmp_path}"]).settings


@pytest.fixture
def judged(make_result, tmp_path):
    def make(run_id, minutes=0, **more):
        result = make_result(run_id, measured_at=NOW + timedelta(minutes=minutes), **more)
        write_result(tmp_path, result)
        return result

    return make


def test_fresh_runs_count_in_the_order_in_which_they_were_judged(judged, settings):
    runs = [judged(f"run-{number}", number) for number in range(4)]
    assert [looks_so_far(settings, run) for run in runs] == [1, 2, 3, 4]


def test_a_run_that_failed_was_a_look_too(judged, settings):
    failed = judged("first", metrics={"reward_lower_95": 0.1})
    assert failed.verdict.outcome == "fail"
    assert looks_so_far(settings, judged("second", 1)) == 2


def test_other_data_and_other_phases_do_not_count(judged, settings):
    judged("elsewhere", judged_on="another window")
    judged("later", 5)
    assert looks_so_far(settings, judged("mine", 1)) == 1


def test_the_same_run_looked_at_again_is_one_run(judged, settings):
    judged("mine", attempt=2)
    assert looks_so_far(settings, judged("mine", 1)) == 1


def test_a_result_that_cannot_be_read_counts(judged, settings):
    judged("broken").file(settings.home).write_text("{", encoding="utf-8")
    assert looks_so_far(settings, judged("mine", 1)) == 2


def test_homes_that_share_a_database_count_together_and_each_run_once(databases, make_result, tmp_path):
    shared = {"GAELP__BUDGET__DATABASE_URL": databases.fresh_place("postgres")}
    homes = [
        load_settings(None, environ=shared, overrides=[f"home={tmp_path / name}"]).settings for name in ("one", "two")
    ]
    runs = []
    for number in range(4):
        result = make_result(f"run-{number}", measured_at=NOW + timedelta(minutes=number))
        write_result(homes[number % 2].home, result)
        runs.append(result)
    for _ in range(2):
        assert [looks_so_far(homes[number % 2], run) for number, run in enumerate(runs)][2:] == [3, 4]
    assert looks_so_far(homes[0], runs[0]) == 1
    rows = AuditLog(open_database(approvals_place(homes[0]))).rows()
    assert [row.kind for row in rows] == [LOOK] * 4
    elsewhere = make_result("other", measured_at=NOW + timedelta(hours=1), judged_on="another window")
    assert looks_so_far(homes[1], elsewhere) == 1


@pytest.mark.parametrize(
    ("looks", "text"),
    [(1, "the first run"), (2, "the 2nd"), (3, "the 3rd"), (4, "the 4th"), (11, "the 11th"), (112, "the 112th")],
)
def test_it_is_said_as_people_say_it(looks, text):
    assert look_text(looks).startswith(text)
