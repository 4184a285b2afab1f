import importlib.util
import sys
from pathlib import Path

import pytest

if "meta_sandbox" not in sys.modules:
    _spec = importlib.util.spec_from_file_location("meta_sandbox", Path(__file__).with_name("meta_sandbox.py"))
    sys.modules["meta_sandbox"] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules["meta_sandbox"])


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory):
    with sys.modules["meta_sandbox"].running_sandbox(tmp_path_factory.mktemp("sandbox")) as running:
        yield running


@pytest.fixture
def account(sandbox):
    """The ad account of an empty world."""
    return sandbox.fresh()


@pytest.fixture
def make():
    """What tests build campaigns with."""
    return sys.modules["meta_sandbox"]
