import numpy as np
import pytest
import yaml

from gaelp.config.places import repository_root
from gaelp.errors import BadInput, ConfigError, DataError
from gaelp.market.baselines.catalog import CATALOG
from gaelp.market.baselines.episodes import held_out_seeds, play
from gaelp.market.build import build_market, load_market_spec, load_persona_table
from gaelp.market.market import seeds_from
from gaelp.market.spec import MarketSpec
from gaelp.market.view import Action
from gaelp.training.curriculum import finished, load, record_all, save, start
from gaelp.training.curriculum_spec import Task, load_curriculum
from gaelp.training.mixing import task_shares
from gaelp.training.task_market import build_task, build_tasks

SHIPPED = repository_root() / "configs" / "curriculum"
TASKS = {
    f"{path.stem}/{task.name}": task for path in sorted(SHIPPED.glob("*.yaml")) for task in load_curriculum(path).tasks
}


def task(market="calm", **changes):
    rules = {"name": "probe", "why": "a test", "market": str(market), "promote_at": 0.9, "demote_below": 0.8}
    return Task.model_validate(rules | changes)


@pytest.fixture
def ranged(tmp_path):
    """A market file that draws two of its numbers for each campaign."""
    path = tmp_path / "ranged.yaml"
    ranges = {"rivals.depth": [0.1, 0.2], "price.level_micros": [1000, 3000]}
    path.write_text(yaml.safe_dump({"name": "ranged", "randomise": ranges}), encoding="utf-8")
    return path


# What is built


def test_a_task_without_changes_is_its_market_under_its_own_name():
    assert build_task(task("cal")) == load_market_spec("cal").model_copy(update={"name": "probe"})


def test_overrides_change_what_they_name_and_leave_their_neighbours():
    market, built = load_market_spec("calm"), build_task(task(overrides={"segments": 4, "price": {"payment": "first"}}))
    assert (built.segments, built.price.payment) == (4, "first")
    assert built.price.segment_log_sd == market.price.segment_log_sd
    assert built.response == market.response
    assert built.label == "easy on purpose, changed for task probe"


def test_lists_are_replaced_as_a_whole():
    knots = {"name": "own", "knots": [[0.5, 0.2], [2.0, 0.9]]}
    built = build_task(task(overrides={"landscapes": [knots], "label": "own prices"}))
    assert [landscape.name for landscape in built.landscapes] == ["own"]
    assert built.label == "own prices"


def test_ranges_join_those_of_the_market_and_win_over_them(ranged):
    built = build_task(task(ranged, randomise={"rivals.depth": [0.5, 0.6], "delay.mean_hours": [0, 5]}))
    assert built.randomise == {
        "rivals.depth": (0.5, 0.6),
        "price.level_micros": (1000, 3000),
        "delay.mean_hours": (0, 5),
    }


def test_an_override_is_not_hidden_by_a_range_of_the_market_file(ranged):
    built = build_task(task(ranged, overrides={"price": {"level_micros": 7000}}))
    assert built.randomise == {"rivals.depth": (0.1, 0.2)}
    assert built.price.level_micros == 7000


def test_a_task_may_set_a_number_and_draw_around_it():
    built = build_task(task(overrides={"rivals": {"depth": 0.4}}, randomise={"rivals.depth": [0.3, 0.5]}))
    assert (built.rivals.depth, built.randomise) == (0.4, {"rivals.depth": (0.3, 0.5)})


def test_building_leaves_the_task_as_it_is_and_gives_the_same_market_again():
    once = task(overrides={"price": {"payment": "first"}}, randomise={"rivals.depth": [0.3, 0.5]})
    before = once.model_dump_json()
    assert build_task(once) == build_task(once)
    assert once.model_dump_json() == before


# What is refused


@pytest.mark.parametrize(
    ("changes", "seen"),
    [
        (
            {"overrides": {"price": {"level_micro": 3}}},
            r"overrides: price\.level_micro: unknown key; .* mean price\.level_micros\?",
        ),
        ({"overrides": {"weather": {}}}, r"overrides: weather: unknown key"),
        ({"overrides": {"price.payment": "first"}}, r"overrides: price\.payment: unknown key"),
        ({"overrides": {"segments": 0}}, r"overrides: segments: saw 0; allowed: greater than 0"),
        ({"overrides": {"segments": "4"}}, r"overrides: segments: saw '4'"),
        ({"overrides": {"segments": None}}, r"overrides: segments: saw null"),
        ({"overrides": {"price": 3}}, r"overrides: price: saw 3; allowed: a mapping with the keys payment"),
        ({"overrides": {"price": {"payment": "third"}}}, r"overrides: price\.payment: saw 'third'"),
        ({"overrides": {"price": {"drift_persistence": 1}}}, r"overrides: price\.drift_persistence: saw 1"),
        ({"overrides": {"budget": {"share_low": 0.5}}}, r"overrides: budget: share_low=0\.5 exceeds share_high=0\.4"),
        ({"overrides": {"hour_of_week": [1.0]}}, r"overrides: hour_of_week needs 168 factors"),
        ({"randomise": {"price.drift_persistence": [0.5, 1]}}, r"randomise: price\.drift_persistence: saw 1"),
        ({"randomise": {"price.level_micros": [0, 10]}}, r"randomise: price\.level_micros: saw 0"),
        ({"randomise": {"price.level_micros": [1, 1.5]}}, r"randomise: price\.level_micros: saw 1\.5"),
        ({"randomise": {"budget.share_low": [0.1, 0.9]}}, r"randomise: budget: share_low=0\.9 exceeds"),
    ],
)
def test_a_change_the_market_cannot_take_is_refused_with_task_and_key(changes, seen):
    with pytest.raises(ConfigError, match=rf"task 'probe', {seen}"):
        build_task(task(**changes))


def test_a_range_of_the_market_file_that_an_override_makes_impossible_is_refused(tmp_path):
    path = tmp_path / "ranged.yaml"
    path.write_text("name: ranged\nrandomise: {budget.share_high: [0.2, 0.4]}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"(?s)task 'probe', overrides and randomise: .*share_low=0\.3"):
        build_task(task(path, overrides={"budget": {"share_low": 0.3}}))


def test_a_market_that_does_not_exist_is_refused_with_task_and_known_names():
    with pytest.raises(DataError, match=r"task 'probe': market: 'clam' not found; .* Did you mean calm\?"):
        build_task(task("clam"))


# What is shipped


@pytest.mark.parametrize("name", sorted(path.stem for path in SHIPPED.glob("*.yaml")))
def test_a_shipped_curriculum_builds_one_market_for_each_task(name):
    spec = load_curriculum(SHIPPED / f"{name}.yaml")
    built = build_tasks(spec)
    assert tuple(built) == spec.names
    assert all(isinstance(market, MarketSpec) and market.name == task for task, market in built.items())


def test_a_mistake_in_the_last_task_is_told_before_the_first_is_trained():
    spec = load_curriculum(SHIPPED / "quick.yaml")
    last = spec.tasks[-1].model_copy(update={"overrides": {"segments": 0}})
    with pytest.raises(BadInput, match=f"task '{last.name}', overrides: segments"):
        build_tasks(spec.model_copy(update={"tasks": (*spec.tasks[:-1], last)}))


@pytest.fixture(scope="module")
def personas():
    return load_persona_table(repository_root() / "configs" / "personas")


@pytest.mark.parametrize("name", TASKS)
def test_the_market_of_a_shipped_task_can_be_played(name, personas):
    market = build_market(build_task(TASKS[name]), personas)
    market.reset(seeds_from(seed=5, campaigns=3))
    bids = np.full((3, market.spec.segments), market.spec.price.level_micros, dtype=np.int64)
    obs, outcome = market.step(Action(bids))
    assert (obs.hour == 1).all()
    assert market.state.opportunities.sum() > 0
    assert np.isfinite(outcome.reward).all()
    assert (outcome.reward >= 0).all()


@pytest.mark.parametrize("name", [name for name in TASKS if name.startswith("default/")])
def test_a_rule_that_plans_masters_a_shipped_task_and_a_constant_bid_does_not_keep_it(name, personas):
    market = build_market(build_task(TASKS[name]), personas)
    kinds = {kind.key: kind for kind in CATALOG}
    seeds = held_out_seeds(seed=11, campaigns=128)
    assert play(market, kinds["mpc"].build(), seeds).reward.mean() >= TASKS[name].promote_at
    assert play(market, kinds["constant"].build(), seeds).reward.mean() < TASKS[name].demote_below


def test_a_rule_that_plans_goes_through_the_quick_curriculum_round_by_round(personas):
    spec = load_curriculum(SHIPPED / "quick.yaml")
    markets = {name: build_market(market, personas) for name, market in build_tasks(spec).items()}
    rule = {kind.key: kind for kind in CATALOG}["mpc"].build()
    state, rounds = start(spec), []
    while not finished(spec, state) and len(rounds) < 10:
        mix = {name: round(share * 64) for name, share in task_shares(spec, state).items()}
        rounds.append(mix)
        seeds = held_out_seeds(seed=11, campaigns=64, batch=len(rounds))
        rewards = {name: play(markets[name], rule, seeds[:count]).reward.mean() for name, count in mix.items()}
        state = load(spec, save(record_all(spec, state, rewards)))
    assert rounds == [{"calm-tiny": 64}, {"calm-tiny": 19, "cal-tiny": 45}]
