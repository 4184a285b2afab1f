"""Campaign by campaign against a reference: what counts as a success, what as ruined, and which groups see it."""

import numpy as np
import pytest

from gaelp.market.baselines.campaign_outcomes import (
    GROUPED_BY,
    SLICES,
    group_leads,
    launch_properties,
    ruined,
    succeeded,
)
from gaelp.market.baselines.compare import campaign_figures
from gaelp.market.baselines.episodes import held_out_seeds
from gaelp.market.build import build_market, load_market_spec, load_persona_table

BEST = np.full(1000, 0.8)


@pytest.fixture(scope="module")
def launch():
    return np.random.default_rng(2).random((1000, len(GROUPED_BY)))


@pytest.mark.parametrize(
    ("share", "success", "is_ruined"),
    [(1.2, True, False), (0.971, True, False), (0.969, False, False), (0.69, False, True), (0.0, False, True)],
)
def test_success_takes_97_percent_of_the_reference_and_ruin_less_than_70(share, success, is_ruined):
    assert (succeeded(share * BEST, BEST) == success).all()
    assert (ruined(share * BEST, BEST) == is_ruined).all()


def test_a_campaign_that_brought_the_reference_nothing_is_measured_by_a_tenth_of_the_mean():
    reference = np.array([0.0, 1.0])
    assert ruined(np.array([-0.014, 1.0]), reference).tolist() == [False, False]
    assert ruined(np.array([-0.016, 1.0]), reference).tolist() == [True, False]
    assert succeeded(np.array([0.0, 1.0]), reference).all()


def test_where_the_reference_loses_money_a_much_larger_loss_is_ruin():
    reference = np.array([-0.5, 1.0])
    assert ruined(np.array([-0.51, 1.0]), reference).tolist() == [False, False]
    assert ruined(np.array([-0.7, 1.0]), reference).tolist() == [True, False]


def test_there_are_fifty_groups_of_equal_size(launch):
    leads = group_leads(BEST * 1.1, BEST, launch)
    assert len(leads) == SLICES * len(GROUPED_BY) == 50
    assert list(leads.values()) == pytest.approx([0.1] * 50)


@pytest.mark.parametrize("number", range(len(GROUPED_BY)))
def test_a_failure_in_one_tenth_by_a_property_shows_as_one_group_with_its_name(launch, number):
    dearest = launch[:, number] > np.quantile(launch[:, number], 0.9)
    figures = campaign_figures(np.where(dearest, 0.9, 1.0) * BEST, BEST, launch)
    assert figures.worst_group == f"{GROUPED_BY[number]}, 10 of 10"
    assert figures.worst_group_lead == pytest.approx(-0.1)


def test_the_same_failure_spread_over_all_campaigns_shows_in_no_group(launch):
    some = np.random.default_rng(3).random(1000) < 0.1
    assert campaign_figures(np.where(some, 0.9, 1.0) * BEST, BEST, launch).worst_group_lead > -0.025


def test_a_share_of_zero_has_an_upper_bound_that_falls_with_the_sample(launch):
    few, many = (campaign_figures(BEST[:count], BEST[:count], launch[:count]).ruined_share for count in (100, 1000))
    assert few.value == many.value == few.lower_95 == many.lower_95 == 0
    assert (few.upper_95, many.upper_95) == pytest.approx((0.0370, 0.00383), rel=0.01)


def test_fewer_campaigns_than_groups_are_grouped_as_far_as_they_go(launch):
    assert len(group_leads(BEST[:4], BEST[:4], launch[:4])) == 4 * len(GROUPED_BY)


def test_properties_are_those_of_the_brief():
    market = build_market(load_market_spec("calm"), load_persona_table("personas"))
    market.reset(held_out_seeds(3, 4))
    brief = market.brief
    properties = dict(zip(GROUPED_BY, launch_properties(brief).T, strict=True))
    assert properties["budget share"] == pytest.approx(brief.budget_share)
    assert properties["conversion value"].tolist() == brief.conversion_value_micros.tolist()
    assert properties["start in the week"].tolist() == brief.start_hour_of_week.tolist()
    assert properties["volume"] == pytest.approx(brief.volume_forecast.mean(axis=1))
    assert properties["price"] == pytest.approx(brief.price_forecast_log.mean(axis=1))
