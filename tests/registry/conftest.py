"""Homes with a registry."""

import uuid

import pytest


@pytest.fixture(scope="session")
def world_in(tmp_path_factory, registry_world, gate_evidence):
    """Make a home with MLflow's tables at a path."""
    runs = tmp_path_factory.mktemp("runs")
    return lambda home: registry_world.new_world(home, runs, gate_evidence)


@pytest.fixture
def world(databases, world_in):
    """A home in which nothing is registered yet, at the same path for all tests."""
    return world_in(databases.quick_folder() / "registry-home")


@pytest.fixture
def movable_world(databases, world_in):
    """The same at a path of its own, for tests that move it."""
    return world_in(databases.quick_folder() / f"home-{uuid.uuid4().hex[:8]}")
