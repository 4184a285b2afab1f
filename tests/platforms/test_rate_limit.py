"""Calls are spaced by the client itself, after a burst of one second."""

from gaelp.platforms.rate_limit import RateLimit


def test_after_a_burst_calls_wait_for_their_turn():
    now, slept = [100.0], []

    def sleep(seconds):
        slept.append(seconds)
        now[0] += seconds

    rate = RateLimit(4, clock=lambda: now[0], sleep=sleep)
    for _ in range(12):
        rate.wait()
    assert slept == [0.25] * 8
    now[0] += 0.5
    for _ in range(3):
        rate.wait()
    assert slept[8:] == [0.25]  # two calls were saved up in half a second


def test_many_threads_do_not_go_faster_together():
    slept = []
    rate = RateLimit(2, clock=lambda: 0.0, sleep=slept.append)  # nobody's sleep moves the clock
    for _ in range(6):
        rate.wait()
    assert slept == [0.5, 1.0, 1.5, 2.0]
