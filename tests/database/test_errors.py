import sqlite3

import pytest
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from gaelp.budget.violations import STORE
from gaelp.database.errors import DatabaseBroken, DatabaseDamaged, DatabaseUnavailable, translated


def damaged():
    error = sqlite3.DatabaseError("database disk image is malformed")
    error.sqlite_errorname = "SQLITE_CORRUPT"
    return error


@pytest.mark.parametrize(
    ("raised", "expected", "message"),
    [
        (IntegrityError("INSERT", {"amount": "hidden"}, Exception("CHECK failed")), DatabaseBroken, "CHECK failed"),
        (OperationalError("SELECT", {}, damaged()), DatabaseDamaged, "malformed.*restore the newest backup"),
        (OperationalError("SELECT", {}, Exception("no route\nsecond line")), DatabaseUnavailable, r"\(no route\)"),
        (PoolTimeoutError(), DatabaseUnavailable, "all connections"),
    ],
)
def test_an_error_of_a_driver_becomes_one_of_the_store(raised, expected, message):
    with pytest.raises(expected, match=message) as translation, translated(STORE, "PostgreSQL"):
        raise raised
    assert type(translation.value) is expected
    assert "hidden" not in str(translation.value)
