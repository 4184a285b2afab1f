"""The lock of a world is given in the order in which threads asked."""

import threading
import time

from gaelp.sandbox.fair_lock import FairLock


def test_threads_get_it_in_the_order_they_asked():
    lock, order, threads = FairLock(), [], []

    def take(number):
        with lock.held():
            order.append(number)

    with lock.held():
        for number in range(10):
            threads.append(threading.Thread(target=take, args=(number,)))
            threads[-1].start()
            while len(lock._waiting) <= number:
                time.sleep(0.001)
    for thread in threads:
        thread.join()
    assert order == list(range(10))


def test_a_thread_that_takes_it_again_and_again_lets_others_in():
    lock, ended, rounds = FairLock(), threading.Event(), []

    def hog():
        while not ended.is_set():
            with lock.held():
                time.sleep(0.001)

    thread = threading.Thread(target=hog)
    thread.start()
    for _ in range(20):
        with lock.held():
            rounds.append(1)
    ended.set()
    thread.join()
    assert len(rounds) == 20
