"""Parts that the tests of a pilot's account share."""

import importlib.util
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def account_parts():
    """The module account_parts.py beside this file."""
    name = "pilot_account_parts"
    if name not in sys.modules:
        path = Path(__file__).with_name("account_parts.py")
        spec = importlib.util.spec_from_file_location(name, path)
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]
