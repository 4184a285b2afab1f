"""The phases of the pipeline, each declared once."""

import pytest

from gaelp.errors import BadInput
from gaelp.phases import declared
from gaelp.phases.declared import PHASES, declaration_of
from gaelp.types import Phase


def test_the_phases_are_declared_once_in_the_order_in_which_an_agent_passes_them():
    assert [declaration.phase for declaration in PHASES] == list(Phase)
    assert [declaration_of(phase) for phase in Phase] == list(PHASES)


def test_a_phase_that_is_not_declared_is_refused_with_those_that_are(monkeypatch):
    monkeypatch.setattr(declared, "PHASES", PHASES[:3])
    with pytest.raises(BadInput, match="phase scale is not declared; there are simulation, history, pilot"):
        declaration_of(Phase.SCALE)
