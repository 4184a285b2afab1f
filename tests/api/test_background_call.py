"""Blocking calls neither wait for each other nor pile up, and giving up on one does not end it."""

import asyncio
import threading

import pytest

from gaelp.api.background_call import FewThreads, begin, start_or_run_inline, within
from gaelp.errors import GaelpError


def no_thread(_self):
    raise RuntimeError("can't start new thread")


def test_a_call_goes_on_after_the_one_who_waited_has_left():
    let_go = threading.Event()
    done = begin(lambda: let_go.wait(30))
    with pytest.raises(TimeoutError):
        asyncio.run(within(0.05, done))
    let_go.set()
    assert done.result(timeout=5) is True


def test_what_a_call_raises_is_raised_where_its_result_is_awaited():
    def fail():
        raise GaelpError("the books are gone")

    with pytest.raises(GaelpError, match="the books are gone"):
        asyncio.run(within(5, begin(fail)))


def test_one_call_too_many_is_refused_and_an_end_makes_room():
    few, let_go = FewThreads(2), threading.Event()
    waiting = [few.begin(lambda: let_go.wait(30)) for _ in range(2)]
    with pytest.raises(GaelpError, match="2 readings are under way"):
        few.begin(lambda: None)
    let_go.set()
    assert all(one.result(timeout=5) for one in waiting)
    assert [few.begin(lambda: 7).result(timeout=5) for _ in range(5)] == [7] * 5


def test_a_machine_out_of_threads_takes_no_room_for_good(monkeypatch):
    few = FewThreads(1)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", no_thread)
        with pytest.raises(RuntimeError):
            few.begin(lambda: 7)
    assert few.begin(lambda: 7).result(timeout=5) == 7


def test_without_a_thread_the_call_runs_inline(monkeypatch):
    monkeypatch.setattr(threading.Thread, "start", no_thread)
    assert start_or_run_inline(threading.get_ident).result(timeout=0) == threading.get_ident()
