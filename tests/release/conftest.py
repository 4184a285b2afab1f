"""Personas, loaded once."""

import pytest

from gaelp.market.build import load_persona_table


@pytest.fixture(scope="session")
def personas():
    return load_persona_table("personas")
