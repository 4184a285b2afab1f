"""A door to a platform that is a double, or a connector to a front of the sandbox; everything else is real."""

import importlib.util
import sys
import uuid
from pathlib import Path

import pytest

from gaelp.sandbox.faults import FaultPlan


def _loaded(name, folder):
    """A module beside the tests, loaded once for all folders of tests."""
    if name not in sys.modules:
        path = Path(__file__).resolve().parents[1] / folder / f"{name}.py"
        spec = importlib.util.spec_from_file_location(name, path)
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture(scope="session")
def double():
    return _loaded("platform_double", "platforms")


@pytest.fixture(scope="session")
def databases():
    return _loaded("ledger_databases", "budget")


@pytest.fixture
def tmp_path(databases):
    """A folder in memory where there is one: these tests are not about the disk."""
    folder = databases.quick_folder() / uuid.uuid4().hex
    folder.mkdir()
    return folder


@pytest.fixture
def make_door(double, tmp_path):
    """Build a door; each is closed at the end."""
    doors = []

    def make(**options):
        folder = tmp_path / str(len(doors))
        folder.mkdir()
        doors.append(double.build_door(folder, **options))
        return doors[-1]

    yield make
    for each in doors:
        each.ledger.close()


@pytest.fixture
def door(make_door):
    return make_door()


@pytest.fixture(scope="session")
def served_front():
    return _loaded("served_front", "platforms")


@pytest.fixture
def sandbox(served):
    """The front of the folder, without faults."""
    served.faults.replace(FaultPlan())
    yield served
    served.faults.replace(FaultPlan())


@pytest.fixture
def platform(sandbox):
    return sandbox.connect()
