"""Skew: planted faults of reading are found, and reports as they should be are not."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from gaelp.pilot.shadow import run_shadow_days
from gaelp.pilot.shadow_record import ShadowFolder
from gaelp.pilot.skew import SkewReport

NAMES = tuple(f"shop-{number}" for number in range(8))


def _hours(**changes):
    def harm(report):
        return replace(
            report,
            hours=tuple(
                replace(hour, **{name: change(getattr(hour, name)) for name, change in changes.items()})
                for hour in report.hours
            ),
        )

    return harm


def _mixed_up(report):
    targets = sorted({target for _, target in report.bids_micros})
    following = dict(zip(targets, targets[1:] + targets[:1], strict=True))
    return replace(report, hours=tuple(replace(hour, target=following[hour.target]) for hour in report.hours))


PLANTED = {
    "cost in units": (_hours(cost_micros=lambda micros: micros // 1_000_000), "reported_cost_per_click"),
    "value in units": (_hours(value_micros=lambda micros: micros // 1_000_000), "reported_value_of_a_conversion"),
    "click rate as percent": (_hours(clicks=lambda clicks: clicks * 100), "segment_click_rate"),
    "impressions in thousands": (_hours(impressions=lambda shown: shown // 1000), "segment_impressions"),
    "time zone": (_hours(start=lambda start: start - timedelta(hours=5)), "reported_impressions"),
    "bids in cents": (
        lambda report: replace(report, bids_micros={key: bid // 10_000 for key, bid in report.bids_micros.items()}),
        "reported_impressions",
    ),
    "rows twice": (lambda report: replace(report, hours=report.hours * 2), "reported_impressions"),
    "hours too early": (lambda report: replace(report, as_of=report.read_at), "volume_recent"),
    "ad groups mixed up": (_mixed_up, "segment_exposure"),
}


@pytest.fixture(scope="module")
def judged(watched, account_parts, tmp_path_factory):
    campaigns, personas, policy = watched.shop(account_parts.estimates_of(NAMES))

    def judge(seed, harm=lambda report: report):
        platform = watched.MarketPlatform(campaigns, personas, seed, harm)
        folder = ShadowFolder(tmp_path_factory.mktemp("shadow"))
        record = run_shadow_days(platform, campaigns.controller(policy), campaigns.plan, folder, platform.wait_until)
        return campaigns.judge(policy, record, personas, lag_hours=watched.LAG, seed=1000 + seed, copies=8)

    return judge


QUICK = ("cost in units", "click rate as percent", "time zone")  # the others are marked slow: seconds each


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5))])
def test_where_nothing_is_skewed_nothing_is_found(judged, seed):
    report = judged(seed)
    assert report.skewed == ()
    assert report.is_clean
    assert report.metrics == {"skewed_features": 0.0}
    assert (report.hours, report.missed_hours) == (48, 0)


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in PLANTED]
)
def test_a_planted_skew_is_found_by_name(judged, name):
    harm, feature = PLANTED[name]
    report = judged(11, harm)
    assert feature in [skewed.name for skewed in report.skewed]
    assert report.metrics["skewed_features"] == len(report.skewed) > 0


@pytest.mark.slow
def test_each_feature_is_listed_once_with_its_largest_difference(judged):
    report = judged(11, PLANTED["click rate as percent"][0])
    names = [skewed.name for skewed in report.skewed]
    assert len(set(names)) == len(names)
    excess = [skewed.size / skewed.limit for skewed in report.skewed]
    assert excess == sorted(excess, reverse=True)
    assert min(excess) > 1


def test_without_an_hour_there_is_no_evidence_and_everything_counts_as_skewed():
    report = SkewReport(skewed=(), compared=52, hours=0, missed_hours=48)
    assert report.metrics == {"skewed_features": 52.0}
    assert not report.is_clean
    assert np.isfinite(report.metrics["skewed_features"])
