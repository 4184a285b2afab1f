import numpy as np
import pytest

from gaelp.config.objective import Objective
from gaelp.market.baselines.catalog import CATALOG
from gaelp.market.baselines.constant import Constant, ConstantParameters
from gaelp.market.policy_conformance import check_policy, state_from_bytes, state_to_bytes
from gaelp.market.view import Action


@pytest.fixture
def flights(make_market, everything_spec):
    """Markets with every mechanism on, whose flights last one and three days."""
    return [make_market(**everything_spec, days=days) for days in (1, 3)]


@pytest.mark.parametrize("kind", CATALOG, ids=lambda kind: kind.key)
def test_campaigns_of_every_rule_can_be_split_joined_and_restored_at_any_hour(kind, flights):
    check_policy(kind.build, flights)


@pytest.mark.parametrize(
    ("days", "segments", "known"), [(9, 13, False), (1, 1, True), (2, 3, True)], ids=["many", "one-known", "known"]
)
@pytest.mark.parametrize("kind", CATALOG, ids=lambda kind: kind.key)
def test_the_same_holds_with_many_segments_and_where_values_are_known(kind, days, segments, known, make_market):
    parameters = {"signals": {"daypart": 0.4, "price": 0.5}} if kind.informed else {}
    market = make_market(days=days, segments=segments, response={"values_known": known})
    check_policy(lambda: kind.build(parameters), [market], restores=30)


class Watching(Constant):
    """A rule whose bids follow what it remembers, to be broken in several ways."""

    def begin(self, brief, _belief=None, /):
        super().begin(brief)
        self._seen = np.zeros(brief.campaigns, np.int64)

    def act(self, obs, /):
        self._seen = self._seen + 1
        return Action(super().act(obs).bid_micros + self._seen[:, None])


class Kept(Watching):
    _kept = ("seen",)


class Shared(Kept):
    def act(self, obs, /):
        bids = super().act(obs).bid_micros
        return Action(bids + len(bids))


class Overwritten(Kept):
    def act(self, obs, /):
        self._seen += 1
        return super().act(obs)


class Summed(Kept):
    def state(self):
        return {"seen": self._seen[:1]}


class Unbelieving(Kept):
    def begin(self, brief, /):
        super().begin(brief)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (Watching, "the state must hold all that is remembered"),
        (Shared, "campaigns must not share it"),
        (Overwritten, "changed by later decisions"),
        (Summed, "not one row a campaign"),
    ],
)
def test_a_policy_that_cannot_live_outside_its_batch_is_refused(broken, message, flights):
    with pytest.raises(AssertionError, match=f"(?i){message}"):
        check_policy(lambda: broken(ConstantParameters()), flights, restores=20)


def test_a_policy_that_keeps_all_it_needs_passes_and_must_accept_a_belief(flights):
    check_policy(lambda: Kept(ConstantParameters()), flights, restores=20)
    with pytest.raises(TypeError, match="positional arguments"):
        check_policy(lambda: Unbelieving(ConstantParameters()), flights, restores=20)


def test_a_saved_state_is_the_same_state():
    state = {"price_log": np.array([0.1, np.nan]), "values.levels.weight": np.zeros((2, 0)), "key": np.uint64([1, 2])}
    restored = state_from_bytes(state_to_bytes(state))
    assert restored.keys() == state.keys()
    for name, array in state.items():
        np.testing.assert_array_equal(restored[name], array, strict=True)


@pytest.mark.parametrize("kind", CATALOG, ids=lambda kind: kind.key)
def test_the_same_holds_with_a_target_return(kind, make_market):
    objective = Objective(kind="target_roas", target_roas=3)
    check_policy(kind.build, [make_market(objective, days=days, segments=3) for days in (1, 2)], restores=30)
