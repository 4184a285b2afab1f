"""Which failures of a task are worth a retry, and what its artifacts are called."""

import pytest
from prefect.states import Failed

from gaelp.errors import BadInput, ConfigError, GaelpError, Refused
from tasks.results import artifact_key, kept, worth_another_try


@pytest.mark.parametrize(
    ("problem", "again"),
    [
        (BadInput("x"), False),
        (ConfigError("x"), False),
        (Refused("x"), False),
        (GaelpError("x"), True),
        (OSError(28, "full"), True),
    ],
)
def test_bad_input_and_refusals_are_not_retried(problem, again):
    assert worth_another_try(None, None, Failed(data=problem)) is again


def test_a_key_has_only_characters_that_prefect_takes():
    assert artifact_key("verdict-simulation", "My_run.1", 2) == "verdict-simulation-my-run-1-2"


def test_results_are_stored_as_json():
    assert kept("declared")["result_serializer"] == "json"
