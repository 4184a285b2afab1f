"""From the registry to a bid: an agent is registered, approved, exported and served, and nothing else gets traffic."""

import json

import pytest

from gaelp.errors import Refused
from gaelp.export.export_folder import export_place, read_export
from gaelp.gateway.admin import load_from_registry
from gaelp.gateway.gateway_server import open_gateway, serve_gateway
from gaelp.gateway.permits import permitted_version, shadow_version
from gaelp.gateway.traffic import Traffic
from gaelp.phases.agent_bundle import write_bundle
from gaelp.phases.agent_registration import feature_version
from gaelp.phases.simulation import hash_agent


@pytest.fixture
def world(registry_world, gate_evidence, databases, here, history_home):
    """A home with a rule as the agent of two runs: the first one's is champion, nobody decided on the second's."""
    made = registry_world.new_world(databases.quick_folder() / "gateway-home", here / "files", gate_evidence)
    settings = history_home.settings_of(made.home, "run.name=shop")
    for run in ("run-1", "run-2"):
        model = write_bundle(settings, history_home.trained(settings, run), here / "agents" / run)
        verdict = made.verdict(run)
        question = made.ask(verdict, hash_agent(model))
        if run == "run-1":
            made.decide(question)
        made.register(
            run,
            [verdict],
            agent="agent (mpc unchanged)",
            learned=False,
            model=model,
            model_hash=hash_agent(model),
            hash_model=hash_agent,
            feature_version=feature_version(),
            more_files={"recipe.json": model.parent / "recipe.json"},
        )
    made.promote(1)
    return made, settings


def test_a_champion_is_exported_by_the_command_and_served_and_an_undecided_version_gets_no_traffic(world, gaelp):
    made, settings = world
    chosen = ("--set", f"home={made.home}", "--set", "run.name=shop", "--config", "quick-test")
    done = gaelp("models", "export", "--decisions", "300", "--json", *chosen)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["parity"][0]["outside"] == 0
    assert gaelp("models", "export", "2", "--decisions", "300", *chosen).exit_code == 0
    registry = made.open()
    export = read_export(export_place(settings, "shop", 1), registry.check().public_key)
    card = export.files["policy-card.md"].decode()
    assert "# Policy card: shop, version 1 (champion)" in card
    assert "Gate `simulation`" in card
    assert "tuned rule" in card
    admin = open_gateway(settings, load_from_registry(settings, made.clock), 1)
    assert admin.now()["traffic"]["shares"] == {1: 100.0}
    admin.add(2)
    with pytest.raises(Refused, match="version 2 of shop is neither champion, challenger nor previous"):
        admin.move(Traffic(shares={1: 90.0, 2: 10.0}, why="a canary"))
    admin.move(Traffic(shares={1: 100.0}, shadow=(2,), why="watch it"))
    assert permitted_version(registry, "shop", 1).manifest.version == 1
    assert shadow_version(registry, "shop", 2).manifest.version == 2


def test_an_export_that_was_changed_or_is_missing_is_not_loaded(world, gaelp):
    made, settings = world
    load = load_from_registry(settings, made.clock)
    with pytest.raises(Refused, match="gaelp models export 1"):
        load(1, True)
    chosen = ("--set", f"home={made.home}", "--set", "run.name=shop", "--config", "quick-test")
    assert gaelp("models", "export", "--decisions", "300", *chosen).exit_code == 0
    file = export_place(settings, "shop", 1) / "rule.json"
    file.write_bytes(file.read_bytes() + b" ")
    with pytest.raises(Refused, match=r"rule\.json was changed"):
        load(1, True)


def test_a_gateway_without_champion_does_not_start(registry_world, gate_evidence, databases, here):
    made = registry_world.new_world(databases.quick_folder() / "gateway-home", here / "files", gate_evidence)
    with pytest.raises(Refused, match="shop has no champion"):
        serve_gateway(made.settings, made.clock)
