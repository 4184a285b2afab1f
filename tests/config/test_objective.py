"""An objective is checked at load, typed in one word, and absent from files that mean value."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.config.objective import VALUE, Objective, is_value, objective_from_text
from gaelp.errors import BadInput


@pytest.mark.parametrize(
    ("given_values", "reason"),
    [
        ({"kind": "target_roas"}, "needs target_roas"),
        ({"kind": "target_cpa", "target_roas": 2}, "target_roas=2 has no effect"),
        ({"kind": "target_cpa"}, "needs target_cpa_micros"),
        ({"kind": "profit", "target_roas": 2}, "has no effect with kind=profit"),
        ({"kind": "value", "target_cpa_micros": 5}, "has no effect with kind=value"),
        ({"kind": "target_roas", "target_roas": 0}, "greater than 0"),
        ({"kind": "reach"}, "value"),
    ],
)
def test_an_objective_without_its_target_or_with_a_foreign_one_is_refused(given_values, reason):
    with pytest.raises(ValueError, match=reason):
        Objective.model_validate(given_values)


roas = st.floats(0.01, 1e5).map(lambda target: Objective(kind="target_roas", target_roas=target))
cpa = st.integers(1, 10**12).map(lambda target: Objective(kind="target_cpa", target_cpa_micros=target))


@given(st.one_of(st.sampled_from([VALUE, Objective(kind="profit")]), roas, cpa))
def test_what_is_typed_reads_back_as_the_same_objective(objective):
    assert objective_from_text(objective.text) == objective
    assert is_value(objective) == (objective.kind == "value")


@pytest.mark.parametrize(
    "text", ["", "Profit", "profit=2", "target_roas", "target_roas=-1", "target_cpa=2.5", "roas=2"]
)
def test_a_text_that_names_no_objective_is_refused_with_what_is_allowed(text):
    with pytest.raises(BadInput, match=r"allowed: value, profit, target_roas=2\.5"):
        objective_from_text(text)


def test_keys_for_file_names_tell_objectives_apart():
    objectives = ["value", "profit", "target_roas=2", "target_roas=2.5", "target_cpa=2500000"]
    keys = [objective_from_text(text).key for text in objectives]
    assert keys == ["value", "profit", "roas-2", "roas-2.5", "cpa-2500000"]
