"""Gate 4's rule about other products passes a bidder that reads the product and refuses one that knows it by heart."""

from datetime import UTC, datetime

import pytest
import torch

from gaelp.bench.transfer_plants import MemorisedRates, memorise_bids
from gaelp.clock import ManualClock
from gaelp.config.objective import Objective
from gaelp.config.scale_settings import TransferSettings
from gaelp.gates import Evidence, judge, load_gate
from gaelp.market.baselines.tuned import load_tuned
from gaelp.market.build import build_market, load_market_spec
from gaelp.release.transfer import SourceAgent, TransferResult, measure_transfer
from gaelp.training.recipe import load_recipe

NOW = datetime(2026, 11, 18, tzinfo=UTC)
CLOCK = ManualClock(NOW)
USUAL = TransferSettings(products=12, campaigns=64)
SMALL = TransferSettings(products=4, campaigns=64)  # enough to refuse


@pytest.fixture(scope="module")
def shop(personas):
    market = build_market(load_market_spec("shop"), personas, Objective(kind="profit"))
    return market, load_tuned(market)


def measured(shop, policy, settings=SMALL, **more):
    market, tuned = shop
    recipe = load_recipe("ppo").with_rule("mpc")
    return measure_transfer(SourceAgent(policy, market, tuned, recipe, None), settings, seed=9, clock=CLOCK, **more)


def outcome(result):
    """What gate 4's rule says."""
    gate = load_gate("scale")
    rule = next(rule for rule in gate.criteria if rule.metric == "transfer_gain_share")
    evidence = Evidence(run_id="r", agent="a", learned=True, config_hash="c", measured_at=NOW, metrics=result.metrics)
    return judge(gate.model_copy(update={"criteria": (rule,), "alpha": None}), evidence, NOW).outcome


@pytest.fixture(scope="module")
def by_rule(shop):
    return measured(shop, shop[1].build("mpc"), USUAL)


def test_a_rule_that_reads_the_product_keeps_its_gain(by_rule):
    assert outcome(by_rule) == "pass"
    assert by_rule.share.lower_95 > 0.8
    assert by_rule.metrics["transfer_observations"] == 12 * 64


def test_an_agent_that_is_a_rule_gains_what_the_rule_gains(by_rule):
    agent, *rules = by_rule.bidders
    same = next(rule for rule in rules if rule.bidder == "mpc")
    assert (agent.source_gain, agent.product_gain) == (same.source_gain, same.product_gain)


def test_an_agent_that_took_the_rates_of_the_source_for_granted_is_refused(shop, by_rule):
    market, tuned = shop
    response = market.spec.response
    learned_by_heart = measured(shop, MemorisedRates(tuned.build("mpc"), response.click_rate, response.conversion_rate))
    assert outcome(learned_by_heart) == "fail"
    gain = learned_by_heart.bidders[0].source_gain
    assert gain == by_rule.bidders[0].source_gain  # nothing at the source tells it from the rule


def test_an_agent_that_learned_the_bids_of_the_source_by_heart_is_refused(shop):
    market, tuned = shop
    assert outcome(measured(shop, memorise_bids(market, tuned.build("mpc"), campaigns=64))) == "fail"


def test_an_agent_without_a_gain_at_the_source_is_inconclusive(shop):
    result = measured(shop, shop[1].constant(), TransferSettings(products=2, campaigns=16))
    assert outcome(result) == "inconclusive"
    assert result.metrics["transfer_observations"] == 0


def test_the_worst_product_is_named_and_the_result_survives_storing(by_rule):
    assert by_rule.worst.gain == min(product.gain for product in by_rule.products)
    assert "delay" in by_rule.worst.differs
    assert TransferResult.model_validate_json(by_rule.model_dump_json()) == by_rule


def test_the_same_seed_gives_the_same_figures_and_progress_counts_the_source(shop):
    steps, few = [], TransferSettings(products=2, campaigns=8)
    first = measured(shop, shop[1].build("mpc"), few, progress=lambda done, total: steps.append((done, total)))
    assert measured(shop, shop[1].build("mpc"), few) == first
    assert steps == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.slow
def test_training_for_the_product_is_reported_beside_the_agent_as_it_is(shop):
    torch.set_num_threads(1)
    result = measured(shop, shop[1].build("mpc"), TransferSettings(products=2, campaigns=32, fine_tune_rounds=2))
    assert list(result.trained) == ["from scratch"]  # a rule has nothing to train further
    assert result.share == measured(shop, shop[1].build("mpc"), TransferSettings(products=2, campaigns=32)).share
