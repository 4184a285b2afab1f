"""The clock of a world: stopped, or running at a speed, up to the barrier; at any speed the same calls do the same."""

import time
from contextlib import contextmanager
from datetime import timedelta

import pytest

from gaelp.errors import BadInput
from gaelp.sandbox.canonical_dump import dump_sha256
from gaelp.sandbox.simulated_clock import SimulatedClock, check_speed

MINUTE = timedelta(minutes=1)


@contextmanager
def running(world, speed=0.0):
    clock = SimulatedClock(world, speed)
    clock.start()
    try:
        yield clock
    finally:
        clock.stop()


def wait_until(happened, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


@pytest.mark.parametrize("speed", [-1, 0.5, 100_001, float("nan"), float("inf")])
def test_a_speed_outside_the_range_is_refused(speed):
    with pytest.raises(BadInput, match="1 to 100000"):
        check_speed(speed)


def test_a_stopped_clock_does_not_move(world, small_spec):
    with running(world) as clock:
        time.sleep(0.1)
        assert clock.now() == small_spec.start


def test_time_passes_at_the_speed_and_can_be_changed_and_stopped(world, small_spec):
    with running(world, 6000) as clock:
        began = time.monotonic()
        wait_until(lambda: clock.now() >= small_spec.start + 30 * MINUTE)
        assert time.monotonic() - began >= 0.25  # 30 minutes at 6000 take 0.3 s
        clock.set_speed(0)
        assert clock.speed == 0
        time.sleep(0.1)
        stopped = clock.now()
        time.sleep(0.1)
        assert clock.now() == stopped
        clock.set_speed(100_000)
        wait_until(lambda: clock.now() > stopped + timedelta(days=1))


def test_it_waits_at_the_barrier_and_does_not_make_up_for_the_wait(world, small_spec):
    end = small_spec.start + 60 * MINUTE
    world.hold_at(end)
    with running(world, 36_000) as clock:
        wait_until(lambda: clock.now() == end)
        time.sleep(0.3)  # 3 hours of simulated time
        assert clock.now() == end
        world.hold_at(end + timedelta(days=30))
        time.sleep(0.05)
        assert clock.now() < end + timedelta(hours=2)


def test_calls_are_answered_while_time_runs_as_fast_as_it_can(world, campaign):
    with world.call() as call:
        call.serve(campaign())
    with running(world, 100_000):
        waits = []
        for _ in range(50):
            began = time.monotonic()
            with world.call() as call:
                call.count_operations("acc", 1)
            waits.append(time.monotonic() - began)
    assert sorted(waits)[25] < 0.2


def test_time_that_fails_stops_and_says_why(world, monkeypatch):
    def fail(*_args, **_options):
        raise OSError("disk full")

    with running(world) as clock:
        monkeypatch.setattr(world, "advance_ticks", fail)
        clock.set_speed(100_000)
        wait_until(lambda: clock.failure is not None)
        assert "disk full" in clock.failure
        assert clock.speed == 0


def test_the_same_stamped_calls_give_the_same_world_at_any_speed(worlds, small_spec, campaign):
    stamps = [small_spec.start + minutes * MINUTE for minutes in (0, 13, 13, 90, 1500, 2900)]
    dumps = {}
    for speed in (0, 1, 3000, 100_000):
        world = worlds(f"speed-{speed}", small_spec)
        world.hold_at(stamps[0])
        with running(world, speed):
            for number, stamp in enumerate(stamps):
                world.hold_at(stamp)
                time.sleep(0.01)
                with world.call(stamp) as call:
                    call.serve(campaign(groups=campaign().groups[number:]))
                    call.count_operations("acc", number)
            world.hold_at(stamps[-1] + timedelta(days=1))
            world.advance(stamps[-1] + timedelta(days=1))
            dumps[speed] = dump_sha256(world)
        world.close()
    assert len(set(dumps.values())) == 1, dumps
