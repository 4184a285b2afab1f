"""A world of the sandbox: its exchange in memory, its file, and the API calls and time that move both together.

The file holds everything before a tick, and which changes of serving were made at which tick. What is in memory is a
function of that: it is computed again from the newest snapshot when a world is opened, or after a failed write.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

from sqlalchemy import Connection

from gaelp.config.private_files import make_private_folder
from gaelp.database import Database, has_store, open_database
from gaelp.database.errors import translated
from gaelp.errors import BadInput, GaelpError, Refused
from gaelp.sandbox.click_fault import click_factor, scaled
from gaelp.sandbox.exchange import Exchange
from gaelp.sandbox.fair_lock import FairLock
from gaelp.sandbox.made_mark import check_not_lost, is_marked, lost_world, mark_made
from gaelp.sandbox.open_call import OpenCall
from gaelp.sandbox.spec import SandboxSpec
from gaelp.sandbox.world_calendar import TICKS_PER_HOUR, WorldCalendar
from gaelp.sandbox.world_rows import (
    WorldState,
    add_serve_call,
    create_world,
    empty_world,
    keep_snapshot,
    latest_snapshot,
    move_tick,
    read_world,
    serve_calls_after,
    set_barrier,
    store_events,
    take_serve_plans,
)
from gaelp.sandbox.world_schema import STORE, WORLD_NAME

__all__ = ["SandboxWorld", "check_world", "claimed_folder", "open_world"]

_TICKS_PER_DAY = 24 * TICKS_PER_HOUR
_MOST_DAYS_AT_ONCE = 366  # that one request may let pass: a mistyped year must not keep everybody else waiting
_LOCK_NAME = "world.lock"
_LEAST_CLICK_FACTOR, _MOST_CLICK_FACTOR = 0.01, 10.0


class SandboxWorld:
    """An open world; `open_world` opens one. All methods may be used by several threads: one is inside at a time."""

    def __init__(self, folder: Path, spec: SandboxSpec, database: Database, claim: TextIO) -> None:
        self.folder = folder
        self._database = database
        self._claim = claim
        self._lock = FairLock()
        self._exchange: Exchange | None = None
        self._known: dict[tuple[str, str], Any] = {}  # derived from resources, see OpenCall
        self._use(spec)

    @property
    def spec(self) -> SandboxSpec:
        """What this world is drawn from."""
        return self._spec

    @property
    def calendar(self) -> WorldCalendar:
        """Where its ticks are in time."""
        return self._calendar

    def now(self) -> datetime:
        """The simulated instant: everything before it has happened and is stored."""
        return self._calendar.instant_of(self._tick)

    def barrier(self) -> datetime | None:
        """The instant that time does not pass until the driver sets a later one, or none."""
        return None if self._barrier is None else self._calendar.instant_of(self._barrier)

    @contextmanager
    def call(self, at: datetime | None = None) -> Iterator[OpenCall]:
        """One API call, now or at its own simulated time, which the world then moves to.

        What the block changed is stored before this returns; if the block raises, nothing of it is.
        """
        problem: BaseException | None = None
        with self._lock.held():
            to_tick = self._tick if at is None else self._tick_to_move_to(at, "the call is stamped")
            while self._tick // _TICKS_PER_DAY < to_tick // _TICKS_PER_DAY:
                self._run((self._tick // _TICKS_PER_DAY + 1) * _TICKS_PER_DAY)
            with self._writing() as connection:
                exchange = self._moved(connection, to_tick)
                call = OpenCall(to_tick, self._calendar, self._lag_ticks, exchange, connection, self._known)
                try:
                    with connection.begin_nested():
                        yield call
                except BaseException as raised:  # noqa: BLE001 - raised again below, once the time that passed is stored
                    problem = raised
                else:
                    for campaign in call.served:
                        exchange.serve(campaign)
        if problem is not None:
            with translated(STORE, self._database.where):
                raise problem

    def advance(self, to: datetime) -> datetime:
        """Let simulated time pass; calls of other threads come in between."""
        with self._lock.held():
            to_tick = self._tick_to_move_to(to, "time was to advance to")
        while self.advance_ticks(_TICKS_PER_DAY, until=to_tick):
            pass
        return self._calendar.instant_of(to_tick)

    def advance_ticks(self, ticks: int, *, until: int | None = None) -> int:
        """Let up to this many ticks pass, but not beyond the barrier nor `until`; how many did."""
        with self._lock.held():
            limits = [limit for limit in (until, self._barrier) if limit is not None]
            to_tick = min([self._tick + ticks, *limits])
            passed = max(0, to_tick - self._tick)
            if passed:
                self._run(to_tick)
            return passed

    def hold_at(self, barrier: datetime | None) -> None:
        """Keep time from passing an instant, also after a restart; None lets it run."""
        tick = None if barrier is None else self._calendar.tick_of(barrier)
        with self._lock.held():
            if tick is not None and tick < self._tick:
                raise BadInput(
                    f"a barrier at {barrier} is in the past of the sandbox, where it is {self.now().isoformat()}: name"
                    " that instant or a later one"
                )
            with self._writing() as connection:
                set_barrier(connection, tick)
            self._barrier = tick

    def reset(self, spec: SandboxSpec | None = None) -> None:
        """Forget everything and begin again, with the same spec or another."""
        fresh = spec or self._spec
        with self._lock.held():
            with self._writing() as connection:
                empty_world(connection)
                create_world(connection, fresh.model_dump_json())
            self._use(fresh)

    def set_click_factor(self, factor: float) -> None:
        """Multiply the click rates of all adverts from now on; 1 ends this fault. It outlives a restart."""
        if not _LEAST_CLICK_FACTOR <= factor <= _MOST_CLICK_FACTOR:
            raise BadInput(
                f"saw a click factor of {factor:g}; allowed: {_LEAST_CLICK_FACTOR:g} to {_MOST_CLICK_FACTOR:g}, where 1"
                " ends the fault"
            )
        with self.call() as call:
            call.set_click_factor(factor)

    @contextmanager
    def at_rest(self) -> Iterator[tuple[Connection, Exchange]]:
        """File and exchange at the same tick, to be read while nothing moves."""
        with self._lock.held(), self._database.reading() as connection:
            yield connection, self._ready_exchange()

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._claim.closed

    def close(self) -> None:
        """Store a snapshot, so that the next start has nothing to compute, and close the file."""
        with self._lock.held(), ExitStack() as ending:
            ending.callback(self._claim.close)
            ending.callback(self._database.close)
            if self._exchange is not None:
                with self._writing() as connection:
                    keep_snapshot(connection, self._tick, self._exchange.snapshot())
                self._exchange = None

    def _use(self, spec: SandboxSpec) -> None:
        self._spec = spec
        self._calendar = WorldCalendar(spec.start, spec.zone)
        self._lag_ticks = spec.reports.lag_hours * TICKS_PER_HOUR
        self._exchange = None
        self._known.clear()
        self._ready_exchange()

    def _ready_exchange(self) -> Exchange:
        """The exchange at the tick of the file; computed from its newest snapshot where it is not in memory."""
        if self.is_closed:
            raise GaelpError(f"the world in {self.folder} is closed: open it again")
        if self._exchange is None:
            with self._database.reading() as connection:
                state = read_world(connection)
                if state is None:
                    raise STORE.damaged(f"{self._database.where} does not say where time is. {STORE.if_damaged}")
                self._exchange = _resumed(connection, self._spec, state.tick)
            self._tick, self._barrier = state.tick, state.barrier_tick
        return self._exchange

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """A transaction; if it fails, memory may be ahead of the file, so the exchange is computed again from that."""
        try:
            with self._database.writing() as connection:
                yield connection
        except BaseException:
            self._exchange = None
            self._known.clear()
            raise

    def _run(self, to_tick: int) -> None:
        with self._writing() as connection:
            self._moved(connection, to_tick)

    def _moved(self, connection: Connection, to_tick: int) -> Exchange:
        """The exchange after all ticks before `to_tick`, with their events in the transaction."""
        exchange = self._ready_exchange()
        if to_tick > exchange.tick:
            is_new_day = to_tick // _TICKS_PER_DAY > exchange.tick // _TICKS_PER_DAY
            self._serve_as_planned(OpenCall(to_tick, self._calendar, self._lag_ticks, exchange, connection), to_tick)
            if to_tick > exchange.tick:
                store_events(connection, exchange.advance(to_tick))
            move_tick(connection, to_tick)
            if is_new_day:
                keep_snapshot(connection, to_tick, exchange.snapshot())
            self._tick = to_tick
        return exchange

    @staticmethod
    def _serve_as_planned(call: OpenCall, until_tick: int) -> None:
        """Run up to each tick at which serving was planned to change, and change it."""
        connection, exchange = call.connection, call.exchange
        while (planned := take_serve_plans(connection, until_tick)) is not None:
            tick, campaigns = planned
            if tick > exchange.tick:
                store_events(connection, exchange.advance(tick))
            for campaign in campaigns:
                served = scaled(campaign, click_factor(call))
                add_serve_call(connection, tick, served)
                exchange.serve(served)

    def _tick_to_move_to(self, at: datetime, what: str) -> int:
        tick = self._calendar.tick_of(at)
        if tick < self._tick:
            raise BadInput(
                f"{what} {at.isoformat()}, but in the sandbox it is {self.now().isoformat()} already, and time does"
                " not run backwards: stop its clock or set a barrier before you replay, or begin again"
                " (`gaelp sandbox reset`)"
            )
        if tick > self._tick + _MOST_DAYS_AT_ONCE * _TICKS_PER_DAY:
            raise BadInput(
                f"{what} {at.isoformat()}, but in the sandbox it is {self.now().isoformat()}; allowed: at most"
                f" {_MOST_DAYS_AT_ONCE} days at once. Check the year, or let time pass in several steps"
            )
        if self._barrier is not None and tick > self._barrier:
            raise Refused(
                f"{what} {at.isoformat()}, beyond the barrier at {self.barrier():%Y-%m-%dT%H:%M:%SZ}: whoever set it"
                " has to release it first"
            )
        return tick


def open_world(folder: Path, spec: SandboxSpec | None = None) -> SandboxWorld:
    """Open the world in a folder, or make one from the spec; without a spec there has to be one.

    It is where it was when it was closed or killed. Another process cannot open it meanwhile.
    """
    make_private_folder(folder)
    with ExitStack() as undo:
        claim = undo.enter_context(claimed_folder(folder))
        check_not_lost(folder)
        database = open_database(folder / WORLD_NAME, STORE, create=spec is not None)
        undo.callback(database.close)
        world = SandboxWorld(folder, _agreed_spec(database, folder, spec), database, claim)
        mark_made(folder)
        undo.pop_all()
    return world


def check_world(folder: Path) -> None:
    """Raise DatabaseDamaged where a start would refuse the world that was made here; nothing is changed by looking."""
    check_not_lost(folder)
    if not has_store(folder / WORLD_NAME, STORE):
        return
    with closing(open_database(folder / WORLD_NAME, STORE, create=False)) as database:
        _stored_world(database, folder)


def claimed_folder(folder: Path) -> TextIO:
    """The lock file of a folder, held until it is closed or the process ends."""
    file = (folder / _LOCK_NAME).open("a+", encoding="ascii")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.seek(0)
        pid = file.read().strip() or "another"
        file.close()
        raise BadInput(
            f"the sandbox in {folder} is open in process {pid}: use that one (`gaelp sandbox status`), stop it"
            " (`gaelp sandbox stop`), or name another folder"
        ) from None
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file


def _agreed_spec(database: Database, folder: Path, spec: SandboxSpec | None) -> SandboxSpec:
    """The spec of the stored world; a new world is made from the given one, and another one is refused."""
    state = _stored_world(database, folder)
    if state is None:
        if spec is None:
            raise BadInput(f"{folder} holds no world yet: give the configuration of a new one")
        with database.writing() as connection:
            create_world(connection, spec.model_dump_json())
        return spec
    stored = SandboxSpec.model_validate_json(state.spec)
    if spec is not None and spec != stored:
        differing = ", ".join(name for name in SandboxSpec.model_fields if getattr(spec, name) != getattr(stored, name))
        raise BadInput(
            f"the world in {folder} was made with another configuration (they differ in {differing}): leave --config"
            " and --seed out to continue it, or begin again (`gaelp sandbox reset`)"
        )
    return stored


def _stored_world(database: Database, folder: Path) -> WorldState | None:
    """The row of a world, or none if it was never stored."""
    _check_pages(database)
    with database.reading() as connection:
        state = read_world(connection)
    if state is None and is_marked(folder):
        raise lost_world(folder, "its one row is gone")
    return state


def _check_pages(database: Database) -> None:
    """Refuse a file with damaged pages at once, not when somebody reads one of them."""
    with database.reading() as connection:
        said = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar_one()
    if said != "ok":
        raise STORE.damaged(
            f"{STORE.title} in {database.where} is damaged ({said}): {STORE.meanwhile}. {STORE.if_damaged}"
        )


def _resumed(connection: Connection, spec: SandboxSpec, tick: int) -> Exchange:
    """The exchange at a tick: its newest snapshot, and what was served since; the events are stored already."""
    snapshot = latest_snapshot(connection)
    exchange = Exchange(spec) if snapshot is None else Exchange.restore(spec, snapshot.data)
    for at_tick, campaign in serve_calls_after(connection, snapshot.served if snapshot else 0):
        if at_tick > exchange.tick:
            exchange.advance(at_tick)
        exchange.serve(campaign)
    if tick > exchange.tick:
        exchange.advance(tick)
    return exchange
