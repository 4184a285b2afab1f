"""A process that is killed at any step leaves a registry that the next one finds whole or finishes, and says so."""

import subprocess
import sys
from pathlib import Path

import pytest

from gaelp.registry import audit_trail, bundle, mlflow_view, record_keeper

BEFORE_AND_AFTER = [pytest.param(False, id="before"), pytest.param(True, id="after", marks=pytest.mark.slow)]


class Steps:
    """Everything that a change writes, one call at a time; raises before or after the chosen one."""

    def __init__(self, monkeypatch):
        self.names, self.stop_at, self.after = [], None, False
        for owner, name in (
            (bundle.BundleDraft, "place"),
            (record_keeper, "add_record"),
            (audit_trail.AuditTrail, "add"),
            (audit_trail.AuditTrail, "note_shown"),
        ):
            monkeypatch.setattr(owner, name, self.counted(name, getattr(owner, name)))
        connect = mlflow_view.connect_client

        def connected(path):
            client = connect(path)
            for name in ("create_registered_model", "create_model_version", "set_registered_model_alias",
                         "delete_registered_model_alias"):  # fmt: skip
                monkeypatch.setattr(client, name, self.counted(name, getattr(client, name)))
            return client

        monkeypatch.setattr(mlflow_view, "connect_client", connected)

    def counted(self, name, call):
        def step(*args, **options):
            self.names.append(name)
            chosen = len(self.names) == self.stop_at
            if chosen and not self.after:
                raise Killed(name)
            result = call(*args, **options)
            if chosen:
                raise Killed(name)
            return result

        return step

    def arm(self, number, *, after):
        self.names.clear()
        self.stop_at, self.after = number, after


class Killed(BaseException):
    """Ends the work as a kill would."""


@pytest.fixture
def steps(monkeypatch):
    return Steps(monkeypatch)


def state_of(world):
    """Versions, aliases, and what opening the registry had to finish; the newest version is verified."""
    registry = world.open()
    model = registry.check().models.get("shop")
    if model is None:
        return 0, None, registry.finished
    registry.verify("shop", len(model.versions))
    return len(model.versions), model.aliases, registry.finished


def killed_at(steps, number, change, *, after=False):
    """The step before (or after) which the change was killed; None if it has fewer steps."""
    steps.arm(number, after=after)
    try:
        change()
    except Killed as problem:
        return str(problem)
    finally:
        steps.arm(None, after=False)
    return None


@pytest.mark.parametrize("after", BEFORE_AND_AFTER)
def test_a_registration_killed_at_any_step_happened_whole_or_not_at_all(world, steps, after):
    world.register("run-0")
    killed = []
    for number in range(1, 20):
        count = state_of(world)[0]
        step = killed_at(steps, number, lambda run=f"run-{number}": world.register(run), after=after)
        if step is None:
            break
        killed.append(step)
        versions, _, finished = state_of(world)
        happened = number > 2
        assert versions == (count + 1 if happened else count), step
        assert bool(finished) == (happened and not (after and step == "note_shown")), step
        assert state_of(world)[2] == ()  # it is finished once
        assert world.register(f"run-{number}").manifest.version == count + 1  # the same one, or now
        assert not list(world.home.glob("models/shop/.draft-*"))
    assert killed == ["place", "add_record", "add", "create_model_version", "note_shown"]


@pytest.mark.parametrize("number", [*(pytest.param(number, marks=pytest.mark.slow) for number in (1, 2, 3)), 4, 5])
def test_the_first_registration_of_a_home_killed_at_any_step_can_be_repeated(world, steps, number):
    step = killed_at(steps, number, lambda: world.register("run-1"))
    assert step == ("add_record", "place", "add_record", "add", "create_registered_model")[number - 1]
    assert state_of(world)[0] == (number > 3)
    assert world.register("run-1").manifest.version == 1


@pytest.mark.parametrize("after", BEFORE_AND_AFTER)
def test_a_rollback_killed_at_any_step_happened_whole_or_not_at_all(world, steps, after):
    for run in ("run-1", "run-2"):
        world.promote(world.approve(run))
    champion, killed = 2, []
    for number in range(1, 20):
        step = killed_at(steps, number, lambda: world.open().rollback("shop", by="ann", why="why"), after=after)
        if step is None:
            break
        killed.append(step)
        _, aliases, finished = state_of(world)
        happened = aliases.champion != champion
        assert happened == (number > 1), step
        assert bool(finished) == (happened and not (after and step == "note_shown")), step
        assert world.open().champion("shop").manifest.version == aliases.champion
        assert sorted([aliases.champion, aliases.previous]) == [1, 2]
        champion = aliases.champion
    assert killed == [
        "add_record", "add", "set_registered_model_alias", "set_registered_model_alias", "note_shown",
    ]  # fmt: skip


@pytest.mark.slow
def test_a_promotion_killed_at_any_step_happened_whole_or_not_at_all(world, steps):
    world.promote(world.approve("run-0"))
    killed = []
    for number in range(1, 20):
        version = world.approve(f"run-{number}")
        before = state_of(world)[1].champion
        step = killed_at(steps, number, lambda version=version: world.promote(version))
        if step is None:
            break
        killed.append(step)
        _, aliases, finished = state_of(world)
        assert (aliases.champion, bool(finished)) == ((before, False) if number == 1 else (version, True)), step
    assert killed == [
        "add_record", "add", "set_registered_model_alias", "set_registered_model_alias", "note_shown",
    ]  # fmt: skip


def test_a_new_mlflow_is_written_from_the_record_and_says_so(movable_world, registry_world):
    world = movable_world
    world.promote(world.approve("run-1"))
    (world.home / "mlflow.db").rename(world.home / "mlflow-before.db")
    moved = world.home.rename(world.home.with_name("moved"))  # MLflow keeps the connection to the old path
    (moved / "mlflow.db").write_bytes(registry_world.mlflow_tables())
    world.home = moved
    registry = world.open()
    assert registry.finished == ("MLflow did not yet show shop as recorded",)
    assert registry.champion("shop").manifest.version == 1
    assert world.open().finished == ()


@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, 8))
def test_a_process_that_is_killed_in_the_middle_leaves_nothing_undone(world, number):
    world.promote(world.approve("run-1"))
    world.approve("run-2")
    killer = Path(__file__).with_name("registry_killer.py")
    ended = subprocess.run([sys.executable, killer, world.home, str(number)], timeout=120, check=False)
    assert ended.returncode == (-9 if number <= 5 else 0)
    versions, aliases, finished = state_of(world)
    assert (versions, aliases.champion, bool(finished)) == (2, 1 if number == 1 else 2, 1 < number <= 5)
    assert world.open().finished == ()
