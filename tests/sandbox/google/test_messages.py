"""Google's package is optional: without it the front says what to install, and the rest of the sandbox works."""

import subprocess
import sys

import pytest

from gaelp.sandbox.google.messages import enum_name, find_field, new, set_enum

WITHOUT = """
import sys
sys.modules["google.ads.googleads.v26.services.types"] = None
import gaelp.sandbox.faults, gaelp.sandbox.world_call, gaelp.sandbox.serving, gaelp.sandbox.google
from gaelp.sandbox.front import load_front
from gaelp.errors import ComponentMissing
try:
    load_front("google")
except ComponentMissing as problem:
    print(problem)
"""


def test_without_googles_package_the_front_says_what_to_install():
    run = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, timeout=120, check=True)
    assert "pip install 'gaelp[google-ads]'" in run.stdout


def test_enums_are_set_and_read_by_name():
    campaign = new("resources.Campaign")
    set_enum(campaign, "status", "PAUSED")
    assert enum_name(campaign, "status") == "PAUSED"
    campaign.status = 77
    assert enum_name(campaign, "status") == "UNKNOWN"


@pytest.mark.parametrize("name", ["type", "type_"])
def test_a_reserved_word_is_found_with_and_without_its_underscore(name):
    assert find_field(new("resources.AdGroup").DESCRIPTOR, name).name == "type_"
