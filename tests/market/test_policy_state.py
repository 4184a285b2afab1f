import numpy as np
import pytest

from gaelp.errors import BadInput
from gaelp.market.baselines.catalog import CATALOG
from gaelp.market.campaign_rows import take, take_state
from gaelp.market.market import seeds_from
from gaelp.market.policy_state import KeptState, part_of, prefixed


class Inner(KeptState):
    _kept = ("sum",)

    def __init__(self, campaigns):
        self._sum = np.zeros(campaigns)


class Outer(KeptState):
    _kept = ("inner", "price_log")

    def __init__(self, campaigns):
        self._inner, self._price_log = Inner(campaigns), np.full((campaigns, 2), np.nan)


def test_a_rule_keeps_its_arrays_and_those_of_its_parts():
    assert {name: array.shape for name, array in Outer(3).state().items()} == {"inner.sum": (3,), "price_log": (3, 2)}


def test_what_was_restored_is_kept():
    state = {"inner.sum": np.arange(3.0), "price_log": np.ones((3, 2))}
    rule = Outer(3)
    rule.restore(state)
    for name, array in rule.state().items():
        np.testing.assert_array_equal(array, state[name])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"price_log": np.ones((2, 2))}, r"price_log is float64 of shape \(2, 2\), the brief needs .* \(3, 2\)"),
        ({"price_log": np.ones((3, 2), np.float32)}, "price_log is float32"),
        ({"other": np.ones(3)}, r"\(different: other\): load a state of the same policy"),
    ],
)
def test_a_state_of_other_campaigns_or_another_rule_is_refused_and_nothing_is_changed(change, message):
    rule = Outer(3)
    with pytest.raises(BadInput, match=message):
        rule.restore({"inner.sum": np.ones(3), "price_log": np.ones((3, 2))} | change)
    assert not rule.state()["inner.sum"].any()


def test_a_part_finds_its_own_state_again():
    state = {"sum": np.ones(1), "deep.sum": np.ones(2)}
    assert part_of("rule", prefixed("rule", state) | {"ruler.sum": np.ones(3)}) == state


@pytest.mark.parametrize("kind", CATALOG, ids=lambda kind: kind.key)
def test_every_rule_refuses_the_state_of_more_campaigns_than_the_brief_has(kind, everything):
    everything.reset(seeds_from(1, 4))
    bidder = kind.build()
    bidder.begin(everything.brief)
    state = bidder.state()
    bidder.load_state(take(everything.brief, [1]), take_state(state, [1]))
    if state:
        with pytest.raises(BadInput, match="load the rows of the campaigns that are in the brief"):
            bidder.load_state(take(everything.brief, [1]), state)
