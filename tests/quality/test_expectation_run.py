import pandas as pd
import pytest

from gaelp.config.environment import process_environment
from gaelp.errors import ConfigError
from gaelp.quality.expectation_run import run_expectations
from gaelp.quality.suite import Expectation

FRAME = pd.DataFrame({"id": ["a", "b", "c"], "spend": [1, -2, 3]})


def between(**kwargs):
    return Expectation(type="expect_column_values_to_be_between", kwargs={"column": "spend", **kwargs}, why="x")


def test_outcomes_are_in_the_order_of_the_expectations_with_the_places_of_failing_rows():
    run = run_expectations(FRAME, [between(min_value=0), between(max_value=9), between(min_value=2)], "s")
    assert [outcome.holds for outcome in run.outcomes] == [False, True, False]
    assert [outcome.sample for outcome in run.outcomes] == [(1,), (), (0, 1)]
    assert run.outcomes[0].failing_rows == 1
    assert process_environment()["GX_ANALYTICS_ENABLED"] == "false"


def test_an_expectation_that_cannot_be_run_is_no_success():
    broken = Expectation(type="expect_column_values_to_be_between", kwargs={"column": "nope", "min_value": 0}, why="x")
    with pytest.raises(ConfigError, match=r"cannot be run: .*nope"):
        run_expectations(FRAME, [broken], "s")
