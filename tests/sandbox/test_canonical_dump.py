"""The canonical dump: equal for equal worlds, different for any difference."""

import json
from datetime import timedelta

from gaelp.sandbox.canonical_dump import canonical_lines, dump_sha256
from gaelp.sandbox.world_call import Resource


def test_every_table_but_the_snapshots_is_in_the_dump(world, campaign, small_spec):
    with world.call() as call:
        call.serve(campaign())
        call.serve(campaign(daily_micros=5_000_000), at=small_spec.start + timedelta(days=30))
        call.put(Resource("acc", "kind", call.next_id(), "name", b"\x00\xff"))
        call.count_operations("acc", 1)
    world.advance(small_spec.start + timedelta(days=6))
    lines = [json.loads(line) for line in canonical_lines(world)]
    assert {line[0] for line in lines} == {
        "click",
        "conversion",
        "credit",
        "exchange",
        "hour_total",
        "operation_count",
        "resource",
        "serve_call",
        "serve_later",
        "served_campaign",
        "world",
    }
    assert ["resource", "acc", "kind", 10_000_000_001, "name", "00ff"] in lines


def test_one_byte_of_one_resource_changes_the_hash(worlds, small_spec):
    hashes = set()
    for name, body in (("a", b"1"), ("b", b"1"), ("c", b"2")):
        world = worlds(name, small_spec)
        with world.call() as call:
            call.put(Resource("acc", "kind", 1, "", body))
        hashes.add(dump_sha256(world))
    assert len(hashes) == 2


def test_when_a_snapshot_was_taken_does_not_change_the_hash(worlds, small_spec, campaign):
    world = worlds("a", small_spec)
    with world.call(small_spec.start + timedelta(hours=3)) as call:
        call.serve(campaign())
    before = dump_sha256(world)
    world.close()
    assert dump_sha256(worlds("a")) == before
