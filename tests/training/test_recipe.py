"""A recipe is whole and right when it is loaded, or the message names the file and what does not fit."""

import pytest
from pydantic import ValidationError

from gaelp.config.places import names_in
from gaelp.errors import ConfigError, DataError
from gaelp.market.baselines.tuned import load_tuned
from gaelp.market.build import build_market, load_market_spec
from gaelp.training.assemble import ground_of, with_chosen_rule
from gaelp.training.market_arena import MarketArena
from gaelp.training.recipe import NO_RULE, Recipe, load_recipe

NEEDED = "arena: {rows: 8}\nloop: {rounds: 2}\n"


@pytest.fixture
def written(tmp_path):
    """The path of a recipe file with this text."""

    def write(text):
        path = tmp_path / "mine.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="module")
def calibrated(personas):
    market = build_market(load_market_spec("cal"), personas)
    return market, load_tuned(market)


@pytest.mark.parametrize("name", names_in("agents"))
def test_every_shipped_recipe_can_be_trained_on_the_default_market(name, calibrated):
    recipe = with_chosen_rule(load_recipe(name), *calibrated, validation_seed=2)
    assert isinstance(recipe.agent, recipe.kind.config)
    arena = MarketArena(recipe.arena, ground_of(*calibrated, recipe.rule), seed=1, validation_seed=2)
    assert recipe.kind.takes(arena.spaces)


@pytest.mark.parametrize("algorithm", ["a2c", "dqn", "ppo", "qr_dqn", "sac", "td3"])
def test_every_own_algorithm_has_a_recipe(algorithm):
    assert algorithm in {load_recipe(name).algorithm for name in names_in("agents")}


def test_what_a_recipe_leaves_out_has_defaults(written):
    recipe = load_recipe(written("algorithm: ppo\n" + NEEDED))
    assert (recipe.rule, recipe.settings) == ("mpc", {})
    assert recipe.agent == recipe.kind.config()
    assert load_recipe(written("algorithm: ppo\nsettings: {gamma: 0.5}\n" + NEEDED)).agent.gamma == 0.5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("algorithm: pppo\n" + NEEDED, r"no agent 'pppo'.*Did you mean ppo\?"),
        ("algorithm: sb3:Nope\n" + NEEDED, "no algorithm 'Nope'"),
        ("algorithm: dqn\n" + NEEDED, "dqn takes discrete actions, arena.residual.actions is continuous"),
        (
            "algorithm: sac\narena: {rows: 8, residual: {actions: discrete}}\nloop: {rounds: 2}\n",
            "sac takes continuous actions, arena.residual.actions is discrete",
        ),
        ("algorithm: ppo\nsettings: {gama: 0.5}\n" + NEEDED, r"gama: unknown key.*Did you mean gamma\?"),
        ("algorithm: ppo\nsettings: {gamma: 2}\n" + NEEDED, "gamma: saw 2; allowed: from 0 to 1"),
        ("algorithm: ppo\nrules: mpc\n" + NEEDED, "rules: unknown key"),
        ("algorithm: ppo\narena: {rows: 0}\nloop: {rounds: 2}\n", "arena.rows: saw 0"),
        ("algorithm: ppo\narena: {rows: 8, residual: {choices: 4}}\nloop: {rounds: 2}\n", "odd number"),
        ("algorithm: ppo\narena: {rows: 8, validation_episodes: 1}\nloop: {rounds: 2}\n", "validation_episodes: saw 1"),
        ("algorithm: ppo\narena: {rows: 8}\n", "loop"),
    ],
    ids=lambda given: given.split("\n")[0] if "\n" in given else "",
)
def test_an_error_names_the_file(written, text, message):
    with pytest.raises(ConfigError, match=rf"(?s)mine\.yaml.*{message}"):
        load_recipe(written(text))


def test_a_recipe_that_is_not_there_is_told_with_the_nearest_name():
    with pytest.raises(ConfigError, match=r"'pppo' not found.*Did you mean ppo\?"):
        load_recipe("pppo")


def test_a_rule_that_was_not_tuned_is_named_with_those_that_were(calibrated):
    with pytest.raises(DataError, match=r"no tuned bidder 'mcp' for market 'cal'; there are .*mpc"):
        ground_of(*calibrated, "mcp")
    assert ground_of(*calibrated, NO_RULE).rule().name == "price level"


def test_another_number_of_rounds_changes_nothing_else(written):
    recipe = load_recipe(written("algorithm: ppo\n" + NEEDED))
    longer = recipe.with_rounds(50)
    assert (longer.loop.rounds, recipe.loop.rounds) == (50, 2)
    assert longer.with_rounds(2) == recipe
    assert recipe.with_rounds(None) is recipe


def test_a_recipe_cannot_be_changed(written):
    recipe = load_recipe(written("algorithm: ppo\n" + NEEDED))
    with pytest.raises(ValidationError, match="frozen"):
        recipe.rule = NO_RULE


def test_a_recipe_made_in_code_is_checked_as_well():
    with pytest.raises(ValidationError, match="dqn takes discrete actions"):
        Recipe.model_validate({"algorithm": "dqn", "arena": {"rows": 8}, "loop": {"rounds": 1}})
