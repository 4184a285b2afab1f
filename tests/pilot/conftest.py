"""Parts that the tests of a pilot's account share."""

import importlib.util
import sys
from pathlib import Path

import pytest


def _loaded(file):
    """A module beside this file, loaded once."""
    name = f"pilot_{file}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{file}.py"))
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture(scope="session")
def account_parts():
    return _loaded("account_parts")


@pytest.fixture(scope="session")
def watched():
    return _loaded("watched")
