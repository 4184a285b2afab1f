"""A planted fault of the world: everybody clicks less from an instant on, whatever is served before and after it."""

from datetime import timedelta

import pytest

from gaelp.errors import BadInput
from gaelp.sandbox.canonical_dump import dump_sha256
from gaelp.sandbox.click_fault import click_factor

DAY = timedelta(days=1)


def clicks_per_impression(world, spec, first, last):
    with world.call() as call:
        rows = call.report(spec.customer_ids[0], (spec.start + first * DAY).date(), (spec.start + last * DAY).date())
    return sum(row.clicks for row in rows) / sum(row.impressions for row in rows)


def served_days(world, campaign, spec, *, factor=1.0, reserved=False):
    """Ten days, the fault after five of them; `reserved` repeats the campaign's bids on each of the last."""
    with world.call() as call:
        call.serve(campaign(daily_micros=10**9))
    world.advance(spec.start + 5 * DAY)
    if factor != 1.0:
        world.set_click_factor(factor)
    for day in range(5):
        if reserved:
            with world.call() as call:
                call.serve(campaign(daily_micros=10**9))
        world.advance(spec.start + (6 + day) * DAY)
    world.advance(spec.start + 12 * DAY)


@pytest.mark.parametrize("reserved", [False, True])
def test_people_click_less_from_then_on_also_where_bids_change_afterwards(worlds, campaign, small_spec, reserved):
    plain, faulty = worlds("plain", small_spec), worlds("faulty", small_spec)
    served_days(plain, campaign, small_spec, reserved=reserved)
    served_days(faulty, campaign, small_spec, factor=0.6, reserved=reserved)
    before = [clicks_per_impression(world, small_spec, 0, 4) for world in (plain, faulty)]
    after = [clicks_per_impression(world, small_spec, 6, 9) for world in (plain, faulty)]
    assert before[0] == before[1]
    assert after[1] < 0.75 * after[0]


def test_what_was_planned_before_the_fault_serves_with_it(world, campaign, small_spec):
    with world.call() as call:
        call.serve(campaign(), at=small_spec.start + DAY)
    world.set_click_factor(0.5)
    world.advance(small_spec.start + 2 * DAY)
    with world.call() as call:
        [served] = call.exchange.served()
    assert {group.appeal for group in served.groups} == {0.5}


def test_the_fault_outlives_a_restart_and_a_replay_gives_the_same_world(worlds, campaign, small_spec):
    once, twice = worlds("once", small_spec), worlds("twice", small_spec)
    served_days(once, campaign, small_spec, factor=0.6)
    with twice.call() as call:
        call.serve(campaign(daily_micros=10**9))
    twice.advance(small_spec.start + 5 * DAY)
    twice.set_click_factor(0.6)
    twice.close()
    again = worlds("twice")
    with again.call() as call:
        assert click_factor(call) == 0.6
    again.advance(small_spec.start + 12 * DAY)
    assert dump_sha256(again) == dump_sha256(once)


def test_a_factor_of_one_ends_it(world, campaign, small_spec):
    with world.call() as call:
        call.serve(campaign())
    world.set_click_factor(0.6)
    world.set_click_factor(1.0)
    with world.call() as call:
        [served] = call.exchange.served()
    assert [group.appeal for group in served.groups] == pytest.approx([1.0] * len(served.groups))


@pytest.mark.parametrize("factor", [0.0, -1.0, 11.0, float("nan")])
def test_a_factor_that_cannot_be_is_refused(world, factor):
    with pytest.raises(BadInput, match=r"allowed: 0\.01 to 10"):
        world.set_click_factor(factor)
