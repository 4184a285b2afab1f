"""A world as text in one defined order, and its hash: two worlds with equal dumps are the same to the bit."""

import hashlib
import json
from collections.abc import Iterator

from sqlalchemy import Connection, Table, select

from gaelp.sandbox.world import SandboxWorld
from gaelp.sandbox.world_schema import STORE

__all__ = ["canonical_lines", "dump_sha256"]

_NOT_OF_THE_WORLD = ("snapshot",)  # when one was taken says nothing about the world


def canonical_lines(world: SandboxWorld) -> Iterator[str]:
    """Every row of every table as JSON, tables by name and rows by key; then the state of the exchange, hashed."""
    with world.at_rest() as (connection, exchange):
        for name, table in sorted(STORE.schema.metadata.tables.items()):
            if name not in _NOT_OF_THE_WORLD:
                yield from _rows(connection, table)
        yield json.dumps(["exchange", exchange.tick, hashlib.sha256(exchange.snapshot()).hexdigest()])


def dump_sha256(world: SandboxWorld) -> str:
    """The hash of the whole dump."""
    digest = hashlib.sha256()
    for line in canonical_lines(world):
        digest.update(f"{line}\n".encode())
    return digest.hexdigest()


def _rows(connection: Connection, table: Table) -> Iterator[str]:
    for row in connection.execute(select(table).order_by(*table.primary_key)):
        yield json.dumps([table.name, *row], default=bytes.hex, separators=(",", ":"))
