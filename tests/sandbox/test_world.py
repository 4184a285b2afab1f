"""A world: calls are stored whole or not at all, time passes in any steps, and nothing is lost when it is killed."""

import gc
import shutil
import threading
from datetime import timedelta

import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gaelp.database import DatabaseDamaged
from gaelp.errors import BadInput, GaelpError, Refused
from gaelp.sandbox import world as world_module
from gaelp.sandbox.canonical_dump import dump_sha256
from gaelp.sandbox.world_call import Resource
from gaelp.sandbox.world_schema import FIRST_ID, WORLD_NAME

HOUR = timedelta(hours=1)


def put(call, name="a", body=b"1"):
    resource = Resource("acc", "google/campaign", call.next_id(), name, body)
    call.put(resource)
    return resource


def test_what_a_call_changes_is_there_for_the_next_one(world):
    with world.call() as call:
        first, second = put(call, "first"), put(call, "second")
        assert call.count_operations("acc", 3) == 3
    with world.call() as call:
        assert call.resources("acc", "google/campaign") == [first, second]
        assert call.resources("acc", "google/campaign", [second.id, 5]) == [second]
        assert call.resource("acc", "google/campaign", first.id) == first
        assert call.named("acc", "google/campaign", "second") == second
        assert call.named("other", "google/campaign", "second") is None
        assert call.count_operations("acc", 2) == 5
        call.remove("acc", "google/campaign", first.id)
        call.put(Resource("acc", "google/campaign", second.id, "renamed", b"2"))
    with world.call() as call:
        assert [each.name for each in call.resources("acc", "google/campaign")] == ["renamed"]


def test_a_mistyped_year_is_refused_and_no_time_passes(world, small_spec):
    year_9999 = small_spec.start.replace(year=9999)
    with pytest.raises(BadInput, match="at most 366 days at once"), world.call(year_9999):
        pass
    with pytest.raises(BadInput, match="at most 366 days at once"):
        world.advance(year_9999)
    assert world.now() == small_spec.start
    assert world.advance(small_spec.start + timedelta(days=366)) == small_spec.start + timedelta(days=366)


def test_a_call_that_fails_leaves_nothing_but_the_time_that_passed(world, campaign, small_spec):
    def fail():
        with world.call(small_spec.start + HOUR) as call:
            put(call)
            call.serve(campaign())
            call.count_operations("acc", 1)
            raise ValueError("bad request")

    with pytest.raises(ValueError, match="bad request"):
        fail()
    assert world.now() == small_spec.start + HOUR
    world.advance(small_spec.start + 24 * HOUR)
    with world.call() as call:
        assert call.resources("acc", "google/campaign") == []
        assert call.next_id() == FIRST_ID
        assert call.count_operations("acc", 0) == 0
        assert call.report(small_spec.customer_ids[0], small_spec.start.date(), world.now().date()) == []


def test_operations_are_counted_by_day_of_the_account(world, small_spec):
    with world.call(small_spec.start + 23 * HOUR) as call:
        assert call.count_operations("acc", 7) == 7
    with world.call(small_spec.start + 24 * HOUR) as call:
        assert call.count_operations("acc", 1) == 1


def test_a_stamped_call_moves_the_world_and_one_of_the_past_is_refused(world, small_spec):
    with world.call(small_spec.start + HOUR + timedelta(seconds=59)) as call:
        assert call.now == small_spec.start + HOUR
    with pytest.raises(BadInput, match="time does not run backwards"), world.call(small_spec.start):
        pass
    with pytest.raises(BadInput, match="no time zone"), world.call(small_spec.start.replace(tzinfo=None)):
        pass


def test_time_does_not_pass_a_barrier_until_it_is_released_also_after_a_restart(worlds, small_spec):
    world, end = worlds("held", small_spec), small_spec.start + 2 * HOUR
    world.hold_at(end)
    with pytest.raises(Refused, match="beyond the barrier"):
        world.advance(end + HOUR)
    with pytest.raises(Refused, match="beyond the barrier"), world.call(end + HOUR):
        pass
    assert world.advance_ticks(600) == 120
    assert world.now() == end
    world.close()
    again = worlds("held")
    assert again.barrier() == end
    assert again.advance_ticks(600) == 0
    with pytest.raises(BadInput, match="in the past"):
        again.hold_at(small_spec.start)
    again.hold_at(None)
    assert again.advance(end + HOUR) == end + HOUR


def replayed(world, campaign, stamps, steps):
    """The same stamped calls, with time passing in these steps (minutes) between them."""
    start = world.spec.start
    for number, minute in enumerate(stamps):
        while (left := (start + timedelta(minutes=minute) - world.now()) // timedelta(minutes=1)) > 0:
            world.advance_ticks(min(left, next(steps)))
        with world.call(start + timedelta(minutes=minute)) as call:
            call.serve(campaign(groups=campaign().groups[: 1 + number % 8]))
            put(call, body=str(call.count_operations("acc", 1)).encode())
    world.advance(start + timedelta(days=4))
    return dump_sha256(world)


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.integers(7, 3000), min_size=1, max_size=5))
def test_the_same_calls_give_the_same_world_in_whatever_steps_time_passes(
    worlds, small_spec, campaign, tmp_path_factory, steps
):
    stamps = (0, 61, 700, 1440, 2881)
    dumps = set()
    for sizes in ([10_000], steps):
        world = worlds(tmp_path_factory.mktemp("steps"), small_spec)
        dumps.add(
            replayed(world, campaign, stamps, iter(lambda sizes=sizes: sizes.pop(0) if len(sizes) > 1 else sizes[0], 0))
        )
        world.close()
    assert len(dumps) == 1


@pytest.mark.parametrize("minutes", [1, 700, 1440, 3000])
def test_a_world_that_was_killed_continues_as_if_it_had_not_been(worlds, small_spec, campaign, tmp_path, minutes):
    straight, killed = worlds("straight", small_spec), worlds("killed", small_spec)
    for world in (straight, killed):
        with world.call() as call:
            call.serve(campaign())
        with world.call(small_spec.start + timedelta(minutes=minutes)) as call:
            call.serve(campaign(daily_micros=7_000_000))
    shutil.copytree(tmp_path / "killed", tmp_path / "copy")  # as kill -9 leaves it: not closed, no snapshot at its end
    again = worlds("copy")
    assert again.now() == small_spec.start + timedelta(minutes=minutes)
    assert dump_sha256(again) == dump_sha256(straight)
    for world in (straight, again):
        world.advance(small_spec.start + timedelta(days=4))
    assert dump_sha256(again) == dump_sha256(straight)


def test_a_serve_call_at_the_tick_of_a_snapshot_is_applied_once(worlds, small_spec, campaign):
    world = worlds("closed", small_spec)
    with world.call(small_spec.start + HOUR) as call:
        call.serve(campaign())
    world.close()
    again = worlds("closed")
    with again.call() as call:
        call.serve(campaign(daily_micros=9_000_000))
    before = dump_sha256(again)
    again.close()
    assert dump_sha256(worlds("closed")) == before


def test_after_a_failed_write_the_world_is_what_its_file_says(worlds, small_spec, campaign, monkeypatch):
    straight, failing = worlds("straight", small_spec), worlds("failing", small_spec)
    for world in (straight, failing):
        with world.call() as call:
            call.serve(campaign())
    with monkeypatch.context() as patch:
        patch.setattr(world_module, "move_tick", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            failing.advance(small_spec.start + 30 * HOUR)
    for world in (straight, failing):
        world.advance(small_spec.start + 30 * HOUR)
    assert dump_sha256(failing) == dump_sha256(straight)


def test_a_second_process_is_refused_and_named(world, worlds):
    with pytest.raises(BadInput, match=r"is open in process \d+"):
        worlds("world")


def test_a_world_is_not_continued_with_another_configuration(worlds, small_spec):
    worlds("mine", small_spec).close()
    with pytest.raises(BadInput, match="differ in seed"):
        worlds("mine", small_spec.model_copy(update={"seed": 4}))
    assert worlds("mine", small_spec).spec == small_spec


def test_an_absent_world_needs_a_configuration(worlds):
    with pytest.raises(BadInput, match="gaelp sandbox start"):
        worlds("nothing")


def _overwrite_middle(path):
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 4096] = b"\xff" * 4096
    path.write_bytes(data)


def _cut(path):
    path.write_bytes(path.read_bytes()[:-5000])


def _replace(path):
    path.write_bytes(b"this is not a database" * 500)


def _empty(path):
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [_overwrite_middle, _cut, _replace, _empty])
def test_a_damaged_file_is_refused_with_the_way_out_and_not_touched(worlds, small_spec, campaign, tmp_path, damage):
    world = worlds("damaged", small_spec)
    with world.call() as call:
        call.serve(campaign())
    world.advance(small_spec.start + timedelta(days=5))
    world.close()
    path = tmp_path / "damaged" / WORLD_NAME
    damage(path)
    before = path.read_bytes()
    with pytest.raises(DatabaseDamaged, match="gaelp sandbox reset"):
        worlds("damaged")
    assert path.read_bytes() == before


def test_reset_begins_again_with_the_same_world_or_another(world, campaign, small_spec, worlds):
    with world.call(small_spec.start + HOUR) as call:
        call.serve(campaign())
        put(call)
    world.reset()
    assert dump_sha256(world) == dump_sha256(worlds("new", small_spec))
    world.reset(small_spec.model_copy(update={"seed": 9}))
    assert world.spec.seed == 9
    assert world.now() == small_spec.start


def test_calls_of_many_threads_are_one_after_the_other_while_time_passes(world, small_spec):
    moments, failures = [], []

    def many_calls():
        try:
            for _ in range(20):
                with world.call() as call:
                    body = call.resource("acc", "counter", 1)
                    count = int(body.body) if body else 0
                    moments.append(call.now)
                    call.put(Resource("acc", "counter", 1, "", str(count + 1).encode()))
        except Exception as problem:  # noqa: BLE001 - shown by the main thread
            failures.append(problem)

    threads = [threading.Thread(target=many_calls) for _ in range(6)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        world.advance_ticks(5)
    assert not failures
    assert moments == sorted(moments)
    with world.call() as call:
        assert call.resource("acc", "counter", 1).body == b"120"


def test_memory_does_not_grow_with_simulated_time(world, campaign, small_spec):
    def resident_mb():
        gc.collect()
        return psutil.Process().memory_info().rss / 1e6

    with world.call() as call:
        call.serve(campaign())
    world.advance(small_spec.start + timedelta(days=40))
    before = resident_mb()
    world.advance(small_spec.start + timedelta(days=200))
    assert resident_mb() < before + 15


def test_a_closed_world_takes_no_calls(world):
    world.close()
    with pytest.raises(GaelpError, match="is closed"), world.call():
        pass


def test_a_call_inside_a_call_is_refused_instead_of_waiting_for_ever(world):
    with world.call(), pytest.raises(RuntimeError, match="inside a call already"), world.call():
        pass


def test_what_is_derived_from_resources_is_made_again_after_a_change_and_never_from_an_undone_one(world):
    made = []

    def names(resources):
        made.append([each.name for each in resources])
        return made[-1]

    def derived():
        with world.call() as call:
            return call.derived("acc", "google/campaign", names)

    def fail():
        with world.call() as call:
            put(call)
            assert call.derived("acc", "google/campaign", names) != []
            raise ValueError("bad request")

    assert derived() is derived()
    with pytest.raises(ValueError, match="bad request"):
        fail()
    assert derived() == []
    with world.call() as call:
        put(call)
    assert len(derived()) == 1
    assert derived() is derived()
    world.reset()
    assert derived() == []
