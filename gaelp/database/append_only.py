"""Triggers that refuse to change or delete rows: a wall against mistakes, on both databases.

Against malice there are hash chains and signatures; whoever owns the database can drop a trigger, and `missing_walls`
says that it was done.
"""

from collections.abc import Iterator, Sequence

from sqlalchemy import Connection, text

__all__ = ["add_walls", "drop_walls", "missing_walls"]

_FUNCTION = "gaelp_append_only"
_BODY = "BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation'; END"
_POSTGRES_FUNCTION = f"CREATE OR REPLACE FUNCTION {_FUNCTION}() RETURNS trigger LANGUAGE plpgsql AS $${_BODY}$$"
_POSTGRES_WALLS = text(
    "SELECT t.tgname, p.prosrc FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
    " JOIN pg_proc p ON p.oid = t.tgfoid"
    " WHERE c.relnamespace = current_schema()::regnamespace AND t.tgenabled IN ('O', 'A')"
)
_SQLITE_WALLS = text("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")


def add_walls(connection: Connection, tables: Sequence[str]) -> None:
    """Refuse UPDATE and DELETE (and TRUNCATE on PostgreSQL) on these tables from now on."""
    if tables and connection.dialect.name == "postgresql":
        connection.execute(text(_POSTGRES_FUNCTION))
    for _, statement in _walls(connection.dialect.name, tables):
        connection.exec_driver_sql(statement)


def drop_walls(connection: Connection, names: Sequence[str]) -> None:
    """Take older triggers of a SQLite file away, before its tables are renamed."""
    for name in names:
        connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {name}")


def missing_walls(connection: Connection, tables: Sequence[str]) -> tuple[str, ...]:
    """The triggers of these tables that are gone, switched off or changed."""
    if connection.dialect.name == "postgresql":
        there = {row.tgname: row.prosrc.strip() for row in connection.execute(_POSTGRES_WALLS)}
        return tuple(name for name, _ in _walls("postgresql", tables) if there.get(name) != _BODY)
    kept = {row.name: row.sql for row in connection.execute(_SQLITE_WALLS)}
    return tuple(name for name, statement in _walls("sqlite", tables) if kept.get(name) != statement)


def _walls(dialect: str, tables: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each trigger and the statement that makes it; SQLite keeps the statement word for word."""
    for table in tables:
        if dialect == "postgresql":
            name = f"{table}_append_only"
            changes, action = "UPDATE OR DELETE OR TRUNCATE", f"FOR EACH STATEMENT EXECUTE FUNCTION {_FUNCTION}()"
            yield name, f"CREATE TRIGGER {name} BEFORE {changes} ON {table} {action}"
            continue
        for change in ("UPDATE", "DELETE"):
            name, action = f"{table}_no_{change}", f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
            yield name, f"CREATE TRIGGER {name} BEFORE {change} ON {table} {action}"
