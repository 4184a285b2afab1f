"""The tables of a store and the version they are in: made, upgraded and checked under a lock, in one transaction.

A version is kept per store in `gaelp_schema`. A database from before that table is version 1 of each store whose tables
it has. Upgrades run in order, once, whoever opens first. A newer version than this code knows is refused.
"""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Connection,
    Integer,
    MetaData,
    Table,
    Text,
    insert,
    inspect,
    select,
    text,
)

from gaelp.database.append_only import add_walls
from gaelp.database.commit_head import COMMIT_TABLE

__all__ = ["Schema", "add_tables", "big_integer", "edited_version", "replace_checks", "stored_version", "upgrade"]

# STRICT tables of SQLite know INTEGER and TEXT only; PostgreSQL needs BIGINT for 64 bits.
big_integer = Integer().with_variant(BigInteger, "postgresql")

_layer = MetaData()
_versions = Table(
    "gaelp_schema",
    _layer,
    Column("store", Text, primary_key=True),
    Column("version", big_integer, nullable=False),
    sqlite_strict=True,
)
_commits = Table(
    COMMIT_TABLE,
    _layer,
    Column("id", big_integer, primary_key=True, autoincrement=False),
    Column("number", big_integer, nullable=False),
    CheckConstraint("id = 1", name="commit_is_one_row"),
    sqlite_strict=True,
)

Change = Callable[[Connection], None]


def _nothing(_connection: Connection) -> None:
    """New tables are empty unless a store says otherwise."""


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables of a store as they are now, and how older ones become so.

    `upgrades[0]` upgrades version 1 to 2. `fill` writes the first rows of new tables. `old_tables` are those of version
    1, which was written before versions were kept; some stores were then on SQLite alone.
    """

    name: str
    metadata: MetaData
    old_tables: tuple[str, ...] = ()
    old_on_postgres: bool = True
    upgrades: tuple[Change, ...] = ()
    append_only: tuple[str, ...] = ()
    fill: Change = _nothing

    @property
    def version(self) -> int:
        """What this code writes."""
        return 1 + len(self.upgrades)

    def missing_tables(self, connection: Connection, version: int) -> tuple[str, ...]:
        """The tables of a version that should be there and are not."""
        present = set(inspect(connection).get_table_names())
        expected = {self.version: tuple(self.metadata.tables), 0: ()}.get(version, self.old_tables)
        return tuple(name for name in expected if name not in present)


def stored_version(connection: Connection, schema: Schema) -> int:
    """The version of a store in this database; 0 if it is not in it."""
    present = set(inspect(connection).get_table_names())
    if _versions.name in present:
        query = select(_versions.c.version).where(_versions.c.store == schema.name)
        if (version := connection.execute(query).scalar_one_or_none()) is not None:
            return int(version)
    has_old = schema.old_on_postgres or connection.dialect.name == "sqlite"
    return 1 if has_old and not present.isdisjoint(schema.old_tables) else 0


def edited_version(connection: Connection, schema: Schema) -> str | None:
    """A stored version that no gaelp wrote: below 1, or absent beside tables that were made together with one."""
    present = set(inspect(connection).get_table_names())
    if _versions.name in present:
        query = select(_versions.c.version).where(_versions.c.store == schema.name)
        if (version := connection.execute(query).scalar_one_or_none()) is not None:
            return str(version) if version < 1 else None
    elif _commits.name in present:
        return "absent"
    is_old = not present.isdisjoint(schema.old_tables)
    return None if is_old or present.isdisjoint(schema.metadata.tables) else "absent"


def upgrade(connection: Connection, schema: Schema) -> None:
    """Bring a store to this code's version, from nothing or from an older one; the caller holds the locks."""
    _layer.create_all(connection)
    if connection.dialect.name == "sqlite" and connection.execute(select(_commits.c.id)).first() is None:
        connection.execute(insert(_commits).values(id=1, number=0))
    version = stored_version(connection, schema)
    if version == 0:
        add_tables(connection, schema)
    for change in schema.upgrades[version - 1 : schema.version] if version else ():
        change(connection)
    connection.execute(_versions.delete().where(_versions.c.store == schema.name))
    connection.execute(insert(_versions).values(store=schema.name, version=schema.version))


def replace_checks(connection: Connection, table: Table) -> None:
    """For an upgrade: give a stored table the CHECKs that it has now; its rows stay."""
    if connection.dialect.name == "sqlite":  # which cannot change a CHECK in place
        old, names = f"{table.name}_before", ", ".join(column.name for column in table.columns)
        for index in table.indexes:
            connection.execute(text(f"DROP INDEX IF EXISTS {index.name}"))
        connection.execute(text(f"ALTER TABLE {table.name} RENAME TO {old}"))
        table.create(connection)
        connection.execute(text(f"INSERT INTO {table.name} ({names}) SELECT {names} FROM {old}"))  # noqa: S608 - our names
        connection.execute(text(f"DROP TABLE {old}"))
        return
    for check in table.constraints:
        if isinstance(check, CheckConstraint):
            connection.execute(text(f"ALTER TABLE {table.name} DROP CONSTRAINT IF EXISTS {check.name}"))
            # In words: SQLAlchemy's AddConstraint would leave the CHECK out of tables that are made later.
            connection.execute(text(f"ALTER TABLE {table.name} ADD CONSTRAINT {check.name} CHECK ({check.sqltext})"))


def add_tables(connection: Connection, schema: Schema) -> None:
    """Make the tables as they are now, with their walls and first rows."""
    schema.metadata.create_all(connection)
    add_walls(connection, schema.append_only)
    schema.fill(connection)
