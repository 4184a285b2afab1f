"""Every movement has a debit and a credit side; nothing is written for zero micros."""

import pytest
from sqlalchemy import text

from gaelp.budget.ledger.journal import cost, held, released, write_movements


@pytest.mark.parametrize(
    ("movement", "debit", "credit", "micros"),
    [
        (held(7), "reserved", "available", 7),
        (released(7), "available", "reserved", 7),
        (cost(7), "spent", "available", 7),
        (cost(-7), "available", "spent", 7),
    ],
)
def test_each_movement_takes_from_one_account_and_gives_to_another(movement, debit, credit, micros):
    assert movement == (debit, credit, micros)


def test_a_movement_of_nothing_is_not_written(databases, tmp_path):
    ledger = databases.new_ledger(databases.fresh_place("sqlite"), tmp_path)
    with ledger.transaction() as connection:
        write_movements(connection, "a", 1, held(0), cost(3))
        rows = connection.execute(text("SELECT transfer_key, debit, credit, micros, at_ms FROM ledger_entry")).all()
    ledger.close()
    assert [tuple(row) for row in rows] == [("a", "spent", "available", 3, 1)]
