import pytest
import torch

from gaelp.agents.catalog import GROUP, AgentKind, agent_config, agent_names, find_agent
from gaelp.agents.conformance import spaces_of
from gaelp.agents.learner import BoxActions, DiscreteActions, Spaces
from gaelp.agents.ppo import PpoConfig, build_ppo
from gaelp.agents.schedules import ConstantSchedule, Cosine, LinearSchedule, Log
from gaelp.errors import BadInput, ComponentMissing, ConfigError, Refused

OWN = ("a2c", "dqn", "ppo", "qr_dqn", "sac", "td3")
NUMBERS, CHOICES = Spaces(3, BoxActions(2), 2), Spaces(3, DiscreteActions(3), 2)

KIND_OF_OTHERS = """
from dataclasses import replace
from gaelp.agents.catalog import find_agent
MINE = replace(find_agent("ppo"), name="mine")
NUMBER = 7
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Puts a distribution on the path, as an installer would: a module and its metadata."""
    monkeypatch.syspath_prepend(tmp_path)

    def put(distribution, entries, *, modules=None):
        for name, source in (modules or {}).items():
            (tmp_path / f"{name}.py").write_text(source)
        info = tmp_path / f"{distribution.replace('-', '_')}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.2\n")
        lines = [f"{name} = {target}" for name, target in entries.items()]
        (info / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines, ""]))

    return put


@pytest.mark.parametrize("name", OWN)
def test_an_own_algorithm_is_found_configured_and_built_by_name(name):
    kind = find_agent(name)
    config = agent_config(kind, {"network": {"hidden": [4]}})
    assert config.network.hidden == (4,)
    for spaces in (NUMBERS, CHOICES):
        if kind.takes(spaces):
            assert kind.build(spaces, config, seed=0).name == name == kind.name
        else:
            with pytest.raises(BadInput):
                kind.build(spaces, config, seed=0)


def test_names_are_listed_own_ones_first():
    assert agent_names()[: len(OWN)] == OWN
    assert "sb3:PPO" in agent_names()


def test_an_unknown_name_is_refused_with_the_list_and_the_nearest():
    with pytest.raises(ConfigError, match=r"there is no agent 'qrdqn'; allowed: a2c, .*td3.* Did you mean qr_dqn\?"):
        find_agent("qrdqn")


def test_an_agent_that_is_not_installed_is_refused_with_the_command_that_installs_it():
    with pytest.raises(ConfigError, match=r"no agent 'mine'.*installed, .*`pip install --editable agents/mine`\."):
        find_agent("mine")


def test_wrong_settings_are_named_all_at_once():
    with pytest.raises(ConfigError) as caught:
        agent_config(find_agent("ppo"), {"epochz": 3, "gamma": 1.5})
    assert "agent ppo: epochz: unknown key" in str(caught.value)
    assert "Did you mean epochs?" in str(caught.value)
    assert "agent ppo: gamma: saw 1.5" in str(caught.value)


def test_an_agent_of_an_installed_distribution_is_found_by_its_entry_point(install):
    install("others-agents", {"mine": "others_agents:MINE"}, modules={"others_agents": KIND_OF_OTHERS})
    assert "mine" in agent_names()
    kind = find_agent("mine")
    config = agent_config(kind, {"steps_per_update": 4, "minibatches": 1})
    action = kind.build(NUMBERS, config, seed=0).act(torch.zeros(2, 3), explore=True)
    assert action.shape == (2, 2)


BAD = {
    "absent": (
        "module_that_is_not_there:KIND",
        r"cannot be loaded, ModuleNotFoundError: [^;]*there'; fix or",
    ),
    "broken": (
        "broken_agents:KIND",
        r"cannot be loaded, ZeroDivisionError: .* at .*broken_agents\.py:\d+;",
    ),
    "nameless": ("others_module:NOTHING", r"cannot be loaded, AttributeError"),
    "seven": ("others_module:NUMBER", r"is of type int; allowed is an AgentKind"),
    "yours": ("others_module:MINE", r"calls itself 'mine': give entry point and kind the same name"),
    "ppo": ("others_module:MINE", r"offers an agent 'ppo', which is a name of GAELP's own: uninstall it"),
}


@pytest.mark.parametrize("name", BAD)
def test_an_entry_point_that_cannot_be_used_is_refused_with_its_distribution_when_asked_for(install, name):
    target, seen = BAD[name]
    install("bad-agents", {name: target}, modules={"others_module": KIND_OF_OTHERS, "broken_agents": "KIND = 1 / 0\n"})
    assert find_agent("sac").name == "sac"  # which nobody spoilt
    assert agent_names()[: len(OWN)] == OWN
    with pytest.raises(ComponentMissing, match=r"bad-agents 1\.2") as caught:
        find_agent(name)
    assert caught.match(seen)


def test_a_name_that_two_distributions_offer_is_refused_with_both(install):
    install("first", {"mine": "others_twice:MINE"}, modules={"others_twice": KIND_OF_OTHERS})
    install("second", {"mine": "others_twice:MINE"})
    with pytest.raises(ComponentMissing, match=r"first 1\.2 and second 1\.2 each offer an agent 'mine'"):
        find_agent("mine")


@pytest.mark.parametrize(
    "schedule",
    [
        ConstantSchedule(start=0.2),
        LinearSchedule(start=0.2, end=0.1, until=0.5),
        Cosine(start=0.2, end=0.0),
        Log(start=0.2, end=0.01),
    ],
)
def test_a_scaled_learning_rate_is_so_many_times_the_old_one_throughout(schedule):
    scaled = find_agent("ppo").scaled(PpoConfig(learning_rate=schedule), learning_rate=0.5).learning_rate
    assert type(scaled) is type(schedule)
    for progress in (0.0, 0.2, 0.7, 1.0):
        assert scaled.value(progress) == pytest.approx(0.5 * schedule.value(progress))


@pytest.mark.parametrize("name", OWN)
def test_scaling_changes_rate_and_minibatch_alone_and_the_state_still_loads(name):
    kind = find_agent(name)
    settings = {"network": {"hidden": [4]}, "gamma": 0.9}
    config = agent_config(kind, settings)
    scaled = kind.scaled(config, learning_rate=0.5, minibatch=0.5)
    differing = {key for key, value in config if value != getattr(scaled, key)}
    sized = {"a2c": {"pieces"}, "ppo": {"minibatches"}}.get(name, {"batch_size"})
    assert differing == {"learning_rate"} | sized
    for spaces in spaces_of(kind):
        kind.build(spaces, scaled, seed=1).load_state(kind.build(spaces, config, seed=0).state())


def test_minibatches_shrink_in_each_algorithms_own_terms():
    ppo, sac, a2c = (find_agent(name) for name in ("ppo", "sac", "a2c"))
    assert ppo.scaled(ppo.config(minibatches=3), minibatch=0.4).minibatches == 8
    assert sac.scaled(sac.config(batch_size=100), minibatch=0.5).batch_size == 50
    with pytest.raises(Refused, match=r"batch_size=1 cannot shrink to 0.5 of it"):
        sac.scaled(sac.config(batch_size=1), minibatch=0.5)
    assert a2c.scaled(a2c.config(pieces=3), minibatch=0.4).pieces == 8


@pytest.mark.parametrize(("rate", "share"), [(0.0, 1.0), (float("nan"), 1.0), (1.0, 0.0), (1.0, 2.0)])
def test_factors_that_make_no_sense_are_refused(rate, share):
    with pytest.raises(BadInput, match=rf"learning_rate={rate} and minibatch={share}"):
        find_agent("ppo").scaled(PpoConfig(), learning_rate=rate, minibatch=share)


def test_a_kind_tells_which_spaces_it_takes():
    kinds = {
        actions: AgentKind("x", PpoConfig, build_ppo, actions, find_agent("ppo").scale)
        for actions in ("both", "continuous", "discrete")
    }
    assert [kinds[name].takes(NUMBERS) for name in kinds] == [True, True, False]
    assert [kinds[name].takes(CHOICES) for name in kinds] == [True, False, True]
