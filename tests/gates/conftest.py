"""What a gate reads, and when."""

import pytest


@pytest.fixture
def now(gate_evidence):
    return gate_evidence.NOW


@pytest.fixture
def passing(gate_evidence):
    """For a gate: evidence measured now that keeps every rule with room to spare."""
    return gate_evidence.passing
