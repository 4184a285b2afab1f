"""Whatever is promoted and rolled back, the aliases make sense, and a move that does something else is no move."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gaelp.errors import BadInput, Refused
from gaelp.registry.aliases import Aliases, AliasMove, GateReference, check_alias, promoted, rolled_back

APPROVAL = GateReference(
    run_id="run-1",
    gate="simulation",
    **dict.fromkeys(("evidence_hash", "verdict_hash", "model_hash", "decision_hash"), "0" * 64),
    decided_by="Ada",
    decided_at=datetime(2026, 11, 16, 12, tzinfo=UTC),
    reason="it holds",
)

steps = st.lists(
    st.one_of(
        st.tuples(st.just("rollback"), st.just(0)),
        st.tuples(st.sampled_from(("champion", "challenger")), st.integers(1, 5)),
    ),
    max_size=30,
)


def move_of(before, after, **changes):
    values = {"name": "shop", "kind": "promote", "alias": "champion", "version": 2, "manifest_hash": "0" * 64}
    return AliasMove(
        **values | {"before": before, "after": after, "approval": APPROVAL, "by": "ann", "why": "x"} | changes
    )


@given(steps)
def test_no_version_is_champion_and_something_else(taken):
    aliases, champions = Aliases(), []
    for step, version in taken:
        if step == "rollback":
            if aliases.previous is None:
                with pytest.raises(Refused, match="no previous champion"):
                    rolled_back(aliases)
                continue
            aliases = rolled_back(aliases)
        elif step == "champion" or aliases.champion != version:
            aliases = promoted(aliases, version, step)
        if aliases.champion is not None:
            assert aliases.champion not in (aliases.challenger, aliases.previous)
            champions.append(aliases.champion)
        assert aliases.previous is None or aliases.previous in champions


@given(steps)
def test_a_rollback_is_undone_by_a_rollback(taken):
    aliases = Aliases()
    for step, version in taken:
        if step == "champion":
            aliases = promoted(aliases, version, "champion")
    if aliases.previous is not None:
        assert rolled_back(rolled_back(aliases)) == aliases


def test_a_move_whose_aliases_do_not_follow_is_refused():
    before = Aliases(champion=1)
    assert move_of(before, Aliases(champion=2, previous=1)).after.previous == 1
    for after in (Aliases(champion=2), Aliases(champion=3, previous=1), Aliases(champion=2, challenger=4, previous=1)):
        with pytest.raises(ValidationError, match="gives other aliases"):
            move_of(before, after)
    with pytest.raises(ValidationError, match="gives other aliases"):
        move_of(Aliases(champion=1, previous=3), Aliases(champion=2, previous=1), kind="rollback")


def test_only_champion_and_challenger_can_be_given():
    assert [check_alias(alias) for alias in ("champion", "challenger")] == ["champion", "challenger"]
    with pytest.raises(BadInput, match="rollback"):
        check_alias("previous")
