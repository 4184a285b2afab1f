"""A campaign that is to serve differently later: the change comes at its tick, also after a restart."""

from datetime import timedelta

import pytest

from gaelp.sandbox.canonical_dump import dump_sha256
from gaelp.sandbox.serving import OverdeliveryLimits, ServedCampaign, ServedGroup
from gaelp.sandbox.spec import load_sandbox_spec
from gaelp.sandbox.world import open_world

SPEC = load_sandbox_spec()
LATER = SPEC.start + timedelta(hours=7, minutes=30, seconds=20)
END = SPEC.start + timedelta(hours=30)
DAYS = (SPEC.start.date() - timedelta(days=1), SPEC.start.date() + timedelta(days=3))


def campaign(*, enabled: bool) -> ServedCampaign:
    group = ServedGroup(id=2, topics=tuple(range(8)), bid_micros=2_000_000)
    return ServedCampaign(
        id=1,
        account=SPEC.customer_ids[0],
        product="example.com/shoes",
        enabled=enabled,
        groups=(group,),
        overdelivery=OverdeliveryLimits(200, "month", 3040),
        daily_micros=100_000_000,
    )


def planned(folder):
    world = open_world(folder, SPEC)
    with world.call() as call:
        call.serve(campaign(enabled=False))
        call.serve(campaign(enabled=True), at=LATER)
    return world


def first_hour(world):
    with world.call() as call:
        rows = call.report(SPEC.customer_ids[0], *DAYS)
    return min((row.start for row in rows if row.impressions), default=None)


def test_serving_changes_at_the_planned_instant_and_not_before(tmp_path):
    world = planned(tmp_path)
    world.advance(END)
    assert first_hour(world) == SPEC.start + timedelta(hours=7)
    world.close()


def test_steps_and_restarts_do_not_matter(tmp_path):
    whole = planned(tmp_path / "whole")
    whole.advance(END)
    stepped = planned(tmp_path / "stepped")
    stepped.advance(LATER - timedelta(minutes=5))
    stepped.close()
    stepped = open_world(tmp_path / "stepped")
    for minutes in (-1, 0, 1, 90):
        stepped.advance(LATER + timedelta(minutes=minutes))
    stepped.close()
    stepped = open_world(tmp_path / "stepped")
    stepped.advance(END)
    assert dump_sha256(stepped) == dump_sha256(whole)
    whole.close()
    stepped.close()


@pytest.mark.parametrize("at", [None, LATER - timedelta(hours=2)])
def test_a_later_word_replaces_the_plan(tmp_path, at):
    world = planned(tmp_path)
    with world.call() as call:
        call.serve(campaign(enabled=False), at=at)
    world.advance(END)
    assert first_hour(world) is None
    world.close()
