"""Versions are registered once, verified whenever they are used, and promoted only with verdict and approval.

On SQLite and on PostgreSQL.
"""

import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from gaelp.approvals import AuditLog, approvals_place, open_database
from gaelp.database import DatabaseUnavailable
from gaelp.errors import BadInput, DataError, Refused
from gaelp.observability import mlflow_client
from gaelp.registry import Tampered


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def world(request, databases, world, monkeypatch):
    """A home in which nothing is registered yet, with its stores in files or in PostgreSQL."""
    if request.param == "postgres":
        monkeypatch.setenv("GAELP__BUDGET__DATABASE_URL", databases.fresh_place("postgres"))
    return world


def holders(world):
    registry = world.open()
    versions = (registry.holder("shop", alias) for alias in ("champion", "challenger", "previous"))
    return [version.manifest.version if version else None for version in versions]


def test_a_registered_version_says_where_it_comes_from_and_has_every_file(world):
    version = world.register("run-1")
    manifest = version.manifest
    assert (manifest.name, manifest.version, manifest.lineage.run_id) == ("shop", 1, "run-1")
    assert [file.path for file in manifest.files] == [
        "parameters/rules.yaml", "policy.bin", "verdicts/1-simulation.json",
    ]  # fmt: skip
    assert version.read("policy.bin") == world.model_file("run-1").read_bytes()
    assert version.verdicts() == (world.verdict("run-1"),)
    assert manifest.figures == world.verdict("run-1").evidence.metrics
    assert world.open().verify("shop", 1) == version
    with pytest.raises(BadInput, match=r"has no file 'other'.*policy\.bin"):
        version.read("other")


def test_everything_is_private_and_the_key_is_recorded(world):
    world.register("run-1")
    own = [path for path in world.home.rglob("*") if path.name.startswith("registry.") or "models" in path.parts]
    assert {path for path in own if stat.S_IMODE(path.stat().st_mode) & 0o077 and path.suffix != ".lock"} == set()
    assert stat.S_IMODE((world.home / "registry.key").stat().st_mode) == 0o600
    kinds = [row.kind for row in AuditLog(open_database(approvals_place(world.settings))).rows()]
    assert kinds == ["model.recorded", "model.recorded", "model.shown"]


def test_nothing_is_returned_until_something_is_promoted(world):
    assert world.open().champion("shop") is None
    version = world.approve("run-1")
    assert holders(world) == [None, None, None]
    move = world.promote(version)
    champion = world.open().champion("shop")
    assert (champion.manifest.version, champion.aliases) == (1, ("champion",))
    assert (move.approval.decided_by, move.approval.gate, move.by) == ("Ada", "simulation", "ann")


def test_the_champion_before_becomes_previous_and_a_rollback_returns_to_it(world):
    for run in ("run-1", "run-2"):
        world.promote(world.approve(run))
    world.promote(world.approve("run-3"), "challenger")
    assert holders(world) == [2, 3, 1]
    world.open().rollback("shop", by="ann", why="it spends at night")
    assert holders(world) == [1, 3, 2]
    world.promote(3)
    assert holders(world) == [3, None, 1]


def test_the_same_model_with_the_same_verdict_is_registered_once_and_a_new_verdict_makes_a_new_version(world):
    first = world.register("run-1")
    assert world.register("run-1") == first
    later = world.register("run-1", [world.verdict("run-1"), world.verdict("run-1", "history")])
    assert (later.manifest.version, later.manifest.lineage.parent) == (2, 1)
    assert [verdict.gate for verdict in later.manifest.verdicts] == ["simulation", "history"]


def test_a_run_builds_on_the_champion(world):
    world.promote(world.approve("run-1"))
    assert world.register("run-2").manifest.lineage.parent == 1


def test_what_was_not_judged_cannot_be_registered(world):
    failed = world.verdict("run-1", metrics={})
    with pytest.raises(Refused, match="newest verdict is fail"):
        world.register("run-1", [failed])
    with pytest.raises(Refused, match="has the model hash"):
        world.register("run-1", model_hash="0" * 64)
    with pytest.raises(DataError, match="was changed after it was judged"):
        world.register("run-1", [world.verdict("run-1").model_copy(update={"summary": "better"})])
    with pytest.raises(BadInput, match=r"\.\./rules\.yaml"):
        world.register("run-1", more_files={"../rules.yaml": world.model_file("run-1")})
    with pytest.raises(BadInput, match="cannot be copied"):
        world.register("run-1", more_files={"gone.yaml": world.home / "gone.yaml"})
    assert world.open().check().models == {}
    assert not list((world.home / "models").rglob("*.bin"))


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "nobody has decided"),
        ({"choice": "reject", "why": "the market moved"}, "rejected by Ada at gate simulation: the market moved"),
        ({"choice": "rerun"}, "Ada decided rerun"),
        ({"through": "auto"}, "approved automatically"),
    ],
    ids=["nobody", "rejected", "rerun", "automatic"],
)
def test_a_version_without_a_persons_approval_is_not_promoted(world, answer, reason):
    verdict = world.verdict("run-1")
    question = world.ask(verdict)
    if answer is not None:
        world.decide(question, **answer)
    world.register("run-1", [verdict])
    with pytest.raises(Refused, match=reason):
        world.promote(1)
    assert holders(world) == [None, None, None]


def test_an_approval_of_another_model_or_another_run_does_not_count(world):
    verdict = world.verdict("run-1")
    world.decide(world.ask(verdict, model_hash="1" * 64))
    world.register("run-1", [verdict])
    with pytest.raises(Refused, match="no gate of that run has asked about it"):
        world.promote(1)


def test_a_later_gate_that_refuses_the_model_ends_its_chance(world):
    version = world.approve("run-1")
    world.ask(world.verdict("run-1", "history", metrics={}))
    with pytest.raises(Refused, match="gate history of run run-1 says fail"):
        world.promote(version)


def test_a_version_registered_before_its_newest_gate_is_not_promoted(world):
    world.approve("run-1")
    history = world.verdict("run-1", "history")
    world.decide(world.ask(history))
    with pytest.raises(Refused, match="registered without the verdict"):
        world.promote(1)
    world.register("run-1", [world.verdict("run-1"), history])
    world.promote(2)
    assert holders(world) == [2, None, None]


def test_an_approval_counts_once(world):
    for run in ("run-1", "run-2"):
        world.promote(world.approve(run))
    with pytest.raises(Refused, match="is the champion already"):
        world.promote(2)
    with pytest.raises(Refused, match="counts once"):
        world.promote(1)
    with pytest.raises(Refused, match="allowed as challenger: another"):
        world.promote(2, "challenger")


def test_a_rollback_needs_a_previous_champion_that_is_whole(world):
    world.promote(world.approve("run-1"))
    with pytest.raises(Refused, match="no previous champion"):
        world.open().rollback("shop", by="ann", why="why")
    world.promote(world.approve("run-2"))
    policy = world.home / "models" / "shop" / "1" / "files" / "policy.bin"
    policy.write_bytes(b"other")
    with pytest.raises(Tampered, match=r"1/files/policy\.bin has 5 bytes"):
        world.open().rollback("shop", by="ann", why="why")
    assert world.open().champion("shop").manifest.version == 2  # which is whole


def test_a_file_that_changes_after_the_check_is_noticed_when_it_is_read(world):
    version = world.register("run-1")
    version.model_path.write_bytes(b"other")
    with pytest.raises(Tampered, match="was changed after it was registered"):
        version.read("policy.bin")


def test_without_the_key_models_can_be_used_but_nothing_changes(world):
    world.promote(world.approve("run-1"))
    version = world.approve("run-2")
    (world.home / "registry.key").rename(world.home / "elsewhere")
    assert world.open().champion("shop").manifest.version == 1
    with pytest.raises(Refused, match=r"registry\.key is gone"):
        world.promote(version)


def test_what_is_not_there_is_named(world):
    with pytest.raises(BadInput, match="nothing is registered yet"):
        world.open().verify("shop", 1)
    world.register("run-1")
    with pytest.raises(BadInput, match="no model 'other' is registered: there are shop"):
        world.open().verify("other", 1)
    with pytest.raises(BadInput, match="shop has no version 7: there are 1 to 1"):
        world.open().verify("shop", 7)


def test_two_models_have_versions_and_aliases_of_their_own(world):
    world.promote(world.approve("run-1"))
    other = world.register("run-2", name="other")
    assert other.manifest.version == 1
    assert world.open().champion("other") is None
    assert world.open().check().of_run("run-2").manifest.name == "other"
    with pytest.raises(Refused, match="run 'run-9' has registered no version"):
        world.open().check().of_run("run-9")


def test_runs_that_register_at_the_same_time_get_a_version_each(world):
    with ThreadPoolExecutor(3) as threads:
        versions = list(threads.map(lambda run: world.register(run).manifest.version, ("run-1", "run-2", "run-3")))
    assert sorted(versions) == [1, 2, 3]
    registry = world.open()
    assert registry.finished == ()
    assert [version.manifest.version for version in registry.check().model("shop").versions] == [1, 2, 3]


def test_a_registry_that_another_process_holds_is_not_waited_for_without_end(world, monkeypatch):
    world.register("run-1")
    monkeypatch.setattr(mlflow_client, "_LOCK_WAIT_S", 0.1)
    with mlflow_client.locked(world.home / "registry.db"), pytest.raises(DatabaseUnavailable, match="another process"):
        world.open()


def test_a_moved_home_is_whole(movable_world):
    world = movable_world
    world.promote(world.approve("run-1"))
    moved = replace(world, home=world.home.rename(world.home.with_name(f"{world.home.name}-moved")))
    registry = moved.open()
    assert registry.finished == ("MLflow did not yet show shop as recorded",)  # it names the folders of the files
    assert registry.champion("shop").folder.is_relative_to(moved.home)
    assert moved.open().finished == ()
