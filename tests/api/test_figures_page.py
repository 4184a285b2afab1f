"""However many ask, the books are read once at a time and at most every few seconds; a reading that hangs is told."""

import asyncio
import threading
from datetime import UTC, datetime

import pytest

from gaelp.api import figures_page
from gaelp.api.figures_page import FiguresPage
from gaelp.observability.metrics import MoneyFigures

FIGURES = MoneyFigures(
    caps=(),
    open_violations={},
    resolved_violations={},
    kill_state="running",
    read_at=datetime(2026, 11, 16, 12, tzinfo=UTC),
)


class Books:
    """Counts how often it is read; may hang."""

    def __init__(self):
        self.readings, self.answers = 0, threading.Event()
        self.answers.set()

    def read(self):
        self.readings += 1
        self.answers.wait(30)
        return FIGURES


@pytest.fixture
def books():
    made = Books()
    yield made
    made.answers.set()


def stopped(page):
    return b"\ngaelp_spending_stopped 1.0\n" in page


def test_figures_are_kept_for_seconds_and_then_read_anew(books):
    now = [100.0]
    page = FiguresPage(books.read, now_seconds=lambda: now[0])
    seen = []
    for later in (0, 4.9, 0.2, 1):
        now[0] += later
        assert not stopped(asyncio.run(page.exposition()))
        seen.append(books.readings)
    assert seen == [1, 1, 2, 2]


def test_many_who_ask_share_one_reading(books):
    books.answers.clear()
    page = FiguresPage(books.read)

    async def many():
        asking = [asyncio.ensure_future(page.exposition()) for _ in range(50)]
        await asyncio.sleep(0.05)
        books.answers.set()
        return await asyncio.gather(*asking)

    pages = asyncio.run(many())
    assert books.readings == 1
    assert not any(stopped(page) for page in pages)


def test_books_that_do_not_answer_show_as_stopped_and_are_not_asked_twice(books, monkeypatch, caplog):
    monkeypatch.setattr(figures_page, "_PATIENCE_SECONDS", 0.1)
    monkeypatch.setattr(figures_page, "_KEPT_SECONDS", 0.0)
    books.answers.clear()
    page = FiguresPage(books.read)
    assert stopped(asyncio.run(page.exposition()))
    assert stopped(asyncio.run(page.exposition()))
    assert (books.readings, len(caplog.records)) == (1, 1)
    books.answers.set()
    assert not stopped(asyncio.run(page.exposition()))
