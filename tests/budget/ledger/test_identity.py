"""Books get a random id once and keep it; those from before ids existed get one when it is needed."""

from sqlalchemy import text

from gaelp.budget.ledger import books_id, known_books_id


def test_books_keep_their_id_and_other_books_have_another(databases, tmp_path):
    first, second = (databases.new_ledger(databases.fresh_place("sqlite"), tmp_path) for _ in range(2))
    assert books_id(first) == books_id(first) == known_books_id(first) != books_id(second)
    for ledger in (first, second):
        ledger.close()


def test_old_books_without_an_id_get_one_only_when_it_is_needed(databases, tmp_path):
    ledger = databases.new_ledger(databases.fresh_place("sqlite"), tmp_path)
    with ledger.alone() as connection:
        connection.execute(text("DROP TABLE ledger_identity"))
    assert known_books_id(ledger) == ""
    assert books_id(ledger) == known_books_id(ledger) != ""
    ledger.close()
