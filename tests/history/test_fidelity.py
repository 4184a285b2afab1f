"""Fidelity on an account with a known truth: the right market fits, wrong ones are named."""

import json
from dataclasses import replace

import numpy as np
import pytest

from gaelp.bench.wrong_markets import HARMS
from gaelp.errors import DataError
from gaelp.history.fidelity import compare_play, measure_fidelity, play_account
from gaelp.history.fidelity_plots import days_png, gaps_png, week_png
from gaelp.history.fidelity_report import FidelityReport
from gaelp.history.window_figures import window_figures
from gaelp.market.calibration.report_frame import keep_days, without_shares

COPIES = 12
PNG = b"\x89PNG"


@pytest.fixture(scope="module")
def play(account, windows, personas):
    return play_account(account, windows[1], personas, seed=1, copies=COPIES)


@pytest.fixture(scope="module")
def report(account, windows, play):
    return compare_play(account, windows[1], play, seed=1)


def test_market_fitted_to_the_first_weeks_reproduces_the_next_two(report):
    assert report.simulator_match.value > 0.93
    assert report.prediction_accuracy.value > 0.85
    assert report.correlation_with_actuals.value > 0.9
    assert not report.gaps_beyond_chance


@pytest.mark.parametrize("plant", HARMS, ids=[plant.__name__ for plant in HARMS])
def test_planted_cause_is_named_first_and_beyond_chance(account, windows, personas, plant):
    harm = plant(account, np.random.default_rng(2))
    first = measure_fidelity(harm.account, windows[1], personas, seed=1, copies=COPIES).gaps[0]
    assert harm.is_named_by(first), first.words
    assert first.beyond_chance


def test_metrics_have_the_names_that_the_gate_reads(report):
    names = {"simulator_match", "prediction_accuracy", "correlation_with_actuals"}
    ends = {f"{name}{end}" for name in names for end in ("", "_lower_95", "_upper_95")}
    assert set(report.metrics) == ends | {"campaign_days"}
    assert report.metrics["campaign_days"] == 5 * 14


def test_report_survives_json(report):
    assert FidelityReport.model_validate(json.loads(report.model_dump_json())) == report


def test_gaps_are_sorted_and_say_in_words_what_they_are(report):
    sizes = [abs(gap.standard_errors) for gap in report.gaps]
    assert sizes == sorted(sizes, reverse=True)
    assert all("in the market than in the log" in gap.words for gap in report.gaps)


def test_distributions_of_a_right_market_are_as_far_apart_as_chance_allows(report):
    by_name = {each.statistic: each for each in report.distributions}
    hours = by_name["hour of day of impressions"]
    assert hours.ks < 0.05
    assert hours.kl < 0.02
    assert by_name["delay of conversions"].ks < 0.2


def test_pictures_are_png(play, report):
    assert all(
        picture.startswith(PNG)
        for picture in (days_png(play.window, play.played), week_png(play.window, play.played), gaps_png(report))
    )


def test_what_bids_brought_has_no_part_in_the_play(account, windows, personas, play):
    """Bids are inputs; clicks, spend and conversions of the held-out window are not."""
    other = replace(windows[1], clicks=windows[1].clicks * 3, spend_micros=windows[1].spend_micros * 2)
    again = play_account(account, other, personas, seed=1, copies=COPIES)
    assert (again.played.spend_micros == play.played.spend_micros).all()
    assert (again.played.clicks == play.played.clicks).all()


def test_log_without_shares_is_compared_by_impressions(account, windows, personas):
    held_out = without_shares(windows[1])
    statistics = {gap.statistic for gap in measure_fidelity(account, held_out, personas, seed=1, copies=4).gaps}
    assert "impressions a day" in statistics
    assert "possible impressions a day" not in statistics


def test_window_without_clicks_too_few_copies_and_foreign_segments_are_refused(account, windows, personas):
    empty = replace(windows[1], clicks=np.zeros_like(windows[1].clicks))
    with pytest.raises(DataError, match="no click"):
        measure_fidelity(account, empty, personas, seed=1)
    with pytest.raises(DataError, match="copies=1; allowed: 4 or more"):
        measure_fidelity(account, windows[1], personas, seed=1, copies=1)
    renamed = tuple(f"x{name}" for name in windows[1].segment_names)
    with pytest.raises(DataError, match="not those of the estimates"):
        window_figures(replace(windows[1], segment_names=renamed), account.estimates)


def test_window_that_begins_within_a_day_is_refused(account, windows):
    held_out = keep_days(windows[1], 0, 7)
    later = replace(held_out, covered_hours=held_out.covered_hours + 5)
    with pytest.raises(DataError, match="begins at hour 5 of a day"):
        window_figures(later, account.estimates)
