"""The market is fitted to the reports of a release, training begins with its agent, and nothing is promoted."""

from datetime import UTC, datetime, timedelta

import pytest
import torch

from gaelp.bench.known_reports import START, ReportTruth, draw_reports
from gaelp.clock import ManualClock
from gaelp.errors import BadInput
from gaelp.market.baselines.tuned import load_tuned
from gaelp.market.build import build_market, load_market_spec
from gaelp.release.continued_learning import learn_on
from gaelp.release.live_experience import LiveExperience
from gaelp.release.transfer import SourceAgent
from gaelp.storage.schema import TableName, empty_table
from gaelp.training.assemble import ground_of, learner_maker
from gaelp.training.fine_tuning import TrainingPlace
from gaelp.training.market_arena import MarketArena
from gaelp.training.progress import LearnerScale
from gaelp.training.recipe import Recipe
from gaelp.training.reports import RoundDone, Saved

TRUTH = ReportTruth(campaigns=3, groups=3, days=14, click_rate=0.09)
RECIPE = Recipe.model_validate(
    {
        "algorithm": "ppo",
        "settings": {"network": {"hidden": [8]}, "steps_per_update": 72, "gamma": 0, "gae_lambda": 0},
        "rule": "mpc",
        "arena": {"rows": 16, "validation_episodes": 4},
        "loop": {"rounds": 9},
    }
)


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def agent(personas):
    """An untrained network around a rule: enough to be trained further."""
    market = build_market(load_market_spec("search"), personas)
    tuned = load_tuned(market)
    arena = MarketArena(RECIPE.arena, ground_of(market, tuned, "mpc"), seed=1, validation_seed=2)
    state = learner_maker(RECIPE.kind, RECIPE.agent, arena.spaces, seed=5)(LearnerScale()).state()
    return SourceAgent(arena.unchanged("agent"), market, tuned, RECIPE, state)


@pytest.fixture(scope="module")
def live():
    tables = draw_reports(TRUTH, seed=4).tables
    tables[TableName.DECISIONS] = empty_table(TableName.DECISIONS)
    return LiveExperience(tables, (), 0)


def place_in(folder):
    clock = ManualClock(datetime(2026, 11, 18, tzinfo=UTC))
    return TrainingPlace(folder, clock, seed=3, validation_seed=5)


def test_the_agent_learns_on_in_a_market_like_the_release(tmp_path, agent, live):
    reports = []
    challenger = learn_on(
        agent,
        live,
        place_in(tmp_path),
        rounds=1,
        as_of=START + timedelta(days=30),
        on_report=reports.append,
    )
    fitted = challenger.market.spec
    assert fitted.name == "search-live"
    assert fitted.response.click_rate == pytest.approx(TRUTH.click_rate, rel=0.4)
    assert abs(fitted.response.click_rate - TRUTH.click_rate) < abs(
        agent.market.spec.response.click_rate - TRUTH.click_rate
    )
    assert fitted.days == agent.market.spec.days
    assert sum(isinstance(report, RoundDone) for report in reports) == 1
    assert any(isinstance(report, Saved) for report in reports)
    # One round of a tiny network on four validation episodes proves nothing, so there is no challenger.
    assert not challenger.learned
    assert challenger.trained.policy.name == "agent as it was"


def test_a_tuned_rule_is_told_what_to_do_instead(tmp_path, agent, live):
    rule = SourceAgent(agent.policy, agent.market, agent.tuned, agent.recipe, None)
    with pytest.raises(BadInput, match="tune it for the market as it is now"):
        learn_on(rule, live, place_in(tmp_path), rounds=1, as_of=START + timedelta(days=30))
