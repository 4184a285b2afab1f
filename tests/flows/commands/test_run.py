"""How `gaelp run` reports a run that did not finish."""

from types import SimpleNamespace

import pytest
import typer

from flows.commands.run import _raise_why
from gaelp.errors import Refused


def test_a_rejection_is_a_decision_and_not_an_error(capsys):
    rejected = SimpleNamespace(name="Rejected", message="rejected by Ada at gate simulation: the market moved")
    with pytest.raises(typer.Exit) as ended:
        _raise_why(rejected)
    assert ended.value.exit_code == Refused.exit_code
    assert capsys.readouterr().err == "The run was rejected by Ada at gate simulation: the market moved\n"


def test_a_gate_that_refuses_is_an_error_with_its_reason():
    with pytest.raises(Refused, match="1 of 6 rules"):
        _raise_why(SimpleNamespace(name="Refused", message="fails, 1 of 6 rules"))
