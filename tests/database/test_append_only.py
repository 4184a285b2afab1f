import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import IntegrityError

from gaelp.database.append_only import add_walls, drop_walls, missing_walls


@pytest.fixture
def connection():
    with create_engine("sqlite://").connect() as opened:
        opened.execute(text("CREATE TABLE paid (amount INTEGER)"))
        opened.execute(text("INSERT INTO paid VALUES (7)"))
        yield opened


@pytest.mark.parametrize("change", ["UPDATE paid SET amount = 8", "DELETE FROM paid"])
def test_a_row_behind_a_wall_is_neither_changed_nor_deleted(connection, change):
    add_walls(connection, ["paid"])
    with pytest.raises(IntegrityError, match="paid is append-only"):
        connection.execute(text(change))
    connection.execute(text("INSERT INTO paid VALUES (9)"))


def test_a_wall_that_is_gone_or_changed_is_named(connection):
    assert missing_walls(connection, ["paid"]) == ("paid_no_UPDATE", "paid_no_DELETE")
    add_walls(connection, ["paid"])
    assert missing_walls(connection, ["paid"]) == ()
    drop_walls(connection, ["paid_no_DELETE"])
    connection.execute(text("CREATE TRIGGER paid_no_DELETE BEFORE DELETE ON paid BEGIN SELECT 1; END"))
    assert missing_walls(connection, ["paid"]) == ("paid_no_DELETE",)
