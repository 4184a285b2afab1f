"""What every store keeps to, on SQLite and on PostgreSQL: versions, walls, no empty store in place of a lost one."""

import threading
from contextlib import closing

import pytest
from sqlalchemy import text

from gaelp.approvals.database import STORE as APPROVALS
from gaelp.budget.ledger.connection import STORE as LEDGER
from gaelp.budget.violations import STORE as VIOLATIONS
from gaelp.content.review_queue import STORE as REVIEWS
from gaelp.database import DatabaseBroken, DatabaseDamaged, has_store, open_database
from gaelp.errors import BadInput, GaelpError
from gaelp.gates.decision_store import STORE as DECISIONS
from gaelp.observability.alert_table import STORE as ALERTS
from gaelp.pilot.book_schema import STORE as PILOT
from gaelp.storage.seals import STORE as SEALS

_ALL = (ALERTS, APPROVALS, DECISIONS, LEDGER, PILOT, REVIEWS, SEALS, VIOLATIONS)
STORES = {store.schema.name: store for store in _ALL}
WALLED = [name for name, store in STORES.items() if store.schema.append_only]


@pytest.fixture(params=STORES)
def store(request):
    return STORES[request.param]


def test_no_two_stores_share_a_lock_a_file_or_a_table():
    for values in (
        [store.lock_key for store in STORES.values()],
        [store.file_name for store in STORES.values()],
        [table for store in STORES.values() for table in store.schema.metadata.tables],
    ):
        assert len(values) == len(set(values))


def test_looking_makes_nothing_and_opening_makes_the_store_once(store, place):
    assert not has_store(place, store)
    with pytest.raises(GaelpError, match=r"there is no|holds no"):
        open_database(place, store, create=False)
    open_database(place, store).close()
    assert has_store(place, store)
    open_database(place, store, create=False).close()


def test_several_that_open_at_once_make_one_store(store, place):
    problems = []

    def opens():
        try:
            open_database(place, store).close()
        except GaelpError as problem:
            problems.append(problem)

    threads = [threading.Thread(target=opens) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    with closing(open_database(place, store)) as database, database.reading() as connection:
        assert connection.execute(text("SELECT COUNT(*) FROM gaelp_schema")).scalar_one() == 1


def test_a_store_that_a_newer_gaelp_wrote_is_refused(store, place):
    with closing(open_database(place, store)) as database, database.writing() as connection:
        connection.execute(text("UPDATE gaelp_schema SET version = 99"))
    with pytest.raises(BadInput, match=r"version 99 .* use the gaelp that wrote it"):
        open_database(place, store)


@pytest.mark.parametrize("name", WALLED)
def test_a_table_that_is_gone_is_not_made_again(name, place):
    store = STORES[name]
    with closing(open_database(place, store)) as database, database.writing() as connection:
        connection.execute(text(f"DROP TABLE {store.schema.append_only[-1]}"))
    for _ in range(2):
        with pytest.raises(DatabaseDamaged, match="is gone"):
            open_database(place, store)


@pytest.mark.parametrize("name", WALLED)
def test_rows_are_neither_changed_nor_deleted_on_postgres(name, databases):
    store = STORES[name]  # triggers of SQLite act on rows: each store's own tests have some
    with closing(open_database(databases.fresh_place("postgres"), store)) as database:
        assert database.missing_walls() == ()
        for table in store.schema.append_only:
            column = next(iter(store.schema.metadata.tables[table].columns)).name
            for statement in (f"DELETE FROM {table}", f"UPDATE {table} SET {column} = {column}"):  # noqa: S608
                with pytest.raises(DatabaseBroken, match="append-only"), database.writing() as connection:
                    connection.execute(text(statement))


@pytest.mark.parametrize("name", WALLED)
def test_a_trigger_that_was_taken_out_is_named(name, place, database_kind):
    store = STORES[name]
    table = store.schema.append_only[0]
    trigger = f"{table}_no_DELETE" if database_kind == "sqlite" else f"{table}_append_only"
    on = "" if database_kind == "sqlite" else f" ON {table}"
    with closing(open_database(place, store)) as database:
        with database.writing() as connection:
            connection.execute(text(f"DROP TRIGGER {trigger}{on}"))
        assert database.missing_walls() == (trigger,)
