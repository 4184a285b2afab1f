"""The SQL of a world's own state: where time is, what is served, snapshots, and the events of the exchange."""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Connection, text

from gaelp.sandbox.exchange_events import MEASURES, ExchangeEvents
from gaelp.sandbox.served_campaign_json import campaign_from_json, campaign_to_json
from gaelp.sandbox.serving import ServedCampaign
from gaelp.sandbox.world_schema import FIRST_ID, TABLES

__all__ = [
    "Snapshot",
    "WorldState",
    "add_serve_call",
    "create_world",
    "drop_serve_plans",
    "empty_world",
    "keep_snapshot",
    "latest_snapshot",
    "move_tick",
    "plan_serve_call",
    "read_world",
    "serve_calls_after",
    "set_barrier",
    "store_events",
    "take_id",
    "take_serve_plans",
]

_ADD_HOURS = (
    "INSERT INTO hour_total VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - our names
    f" ON CONFLICT DO UPDATE SET {', '.join(f'{name} = {name} + excluded.{name}' for name in MEASURES)}"
)
_ADD_CLICKS = "INSERT INTO click VALUES (?, ?, ?, ?, ?, ?)"
_ADD_CONVERSIONS = "INSERT INTO conversion VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_ADD_CREDITS = "INSERT INTO credit VALUES (?, ?, ?, ?, ?, ?, ?)"


@dataclass(frozen=True, slots=True)
class WorldState:
    """The one row that says where a world is."""

    spec: str
    tick: int
    barrier_tick: int | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The exchange at some tick, and the number of the last serve call that it contains."""

    served: int
    data: bytes


def create_world(connection: Connection, spec: str) -> None:
    """Write the first row of a new world."""
    connection.execute(
        text("INSERT INTO world (id, spec, tick, next_id) VALUES (1, :spec, 0, :next_id)"),
        {"spec": spec, "next_id": FIRST_ID},
    )


def empty_world(connection: Connection) -> None:
    """Delete everything that ever happened."""
    for table in TABLES:
        connection.exec_driver_sql(f"DELETE FROM {table}")  # noqa: S608 - our names


def read_world(connection: Connection) -> WorldState | None:
    """Where the world is; None if there is none yet."""
    row = connection.exec_driver_sql("SELECT spec, tick, barrier_tick FROM world").one_or_none()
    return None if row is None else WorldState(row.spec, row.tick, row.barrier_tick)


def move_tick(connection: Connection, tick: int) -> None:
    """Store that everything before this tick has happened."""
    connection.exec_driver_sql("UPDATE world SET tick = ?", (tick,))


def set_barrier(connection: Connection, tick: int | None) -> None:
    """Store how far time may run."""
    connection.exec_driver_sql("UPDATE world SET barrier_tick = ?", (tick,))


def take_id(connection: Connection) -> int:
    """The next id, which nobody gets again."""
    taken = connection.exec_driver_sql("UPDATE world SET next_id = next_id + 1 RETURNING next_id - 1")
    return int(taken.scalar_one())


def add_serve_call(connection: Connection, tick: int, campaign: ServedCampaign) -> None:
    """Store that a campaign is served like this from a tick on."""
    connection.exec_driver_sql(
        "INSERT INTO serve_call (tick, campaign) VALUES (?, ?)", (tick, campaign_to_json(campaign))
    )
    connection.exec_driver_sql(
        "INSERT INTO served_campaign (id, account, first_tick) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (campaign.id, campaign.account, tick),
    )


def plan_serve_call(connection: Connection, tick: int, campaign: ServedCampaign) -> None:
    """Store that a campaign is to be served like this from a later tick on."""
    values = (tick, campaign.id, campaign_to_json(campaign))
    connection.exec_driver_sql("INSERT INTO serve_later (tick, id, campaign) VALUES (?, ?, ?)", values)


def drop_serve_plans(connection: Connection, tick: int, campaign: int) -> None:
    """Forget what was planned for a campaign from a tick on."""
    connection.exec_driver_sql("DELETE FROM serve_later WHERE tick >= ? AND id = ?", (tick, campaign))


def take_serve_plans(connection: Connection, until_tick: int) -> tuple[int, list[ServedCampaign]] | None:
    """The earliest tick up to this one at which something was planned, and what; the plan is forgotten."""
    tick = connection.exec_driver_sql("SELECT min(tick) FROM serve_later WHERE tick <= ?", (until_tick,)).scalar_one()
    if tick is None:
        return None
    rows = connection.exec_driver_sql("SELECT campaign FROM serve_later WHERE tick = ? ORDER BY id", (tick,)).all()
    connection.exec_driver_sql("DELETE FROM serve_later WHERE tick = ?", (tick,))
    return int(tick), [campaign_from_json(row.campaign) for row in rows]


def serve_calls_after(connection: Connection, number: int) -> Iterator[tuple[int, ServedCampaign]]:
    """Tick and campaign of each change of serving after the one with this number, in order."""
    query = "SELECT tick, campaign FROM serve_call WHERE number > ? ORDER BY number"
    for row in connection.exec_driver_sql(query, (number,)):
        yield row.tick, campaign_from_json(row.campaign)


def latest_snapshot(connection: Connection) -> Snapshot | None:
    """The newest snapshot of the exchange."""
    row = connection.exec_driver_sql("SELECT served, data FROM snapshot").one_or_none()
    return None if row is None else Snapshot(row.served, row.data)


def keep_snapshot(connection: Connection, tick: int, data: bytes) -> None:
    """Store a snapshot of the exchange, which contains every serve call so far, in place of the older one."""
    connection.exec_driver_sql("DELETE FROM snapshot")
    connection.exec_driver_sql(
        "INSERT INTO snapshot (tick, served, data) SELECT ?, coalesce(max(number), 0), ? FROM serve_call", (tick, data)
    )


def store_events(connection: Connection, events: ExchangeEvents) -> None:
    """Store what happened; an hour that two advances share is summed."""
    for statement, array in (
        (_ADD_HOURS, events.hours),
        (_ADD_CLICKS, events.clicks),
        (_ADD_CONVERSIONS, events.conversions),
        (_ADD_CREDITS, events.credits),
    ):
        if array.size:
            connection.exec_driver_sql(statement, array.tolist())
