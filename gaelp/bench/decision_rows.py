"""Generated rows of the stored table `decisions`, as many as asked for, day by day: input to measure the jobs with."""

from collections.abc import Iterator
from datetime import date, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gaelp.storage.schema import TABLES, TableName

__all__ = ["ROWS_PER_DAY", "decision_days"]

ROWS_PER_DAY = 33_600  # 50 campaigns, 24 hours, 28 segments
_CAMPAIGNS, _SEGMENTS = 50, 28
_FIRST_DAY = date(2026, 1, 1)


def decision_days(rows: int, rng: np.random.Generator) -> Iterator[tuple[date, pa.Table]]:
    """Whole days of decisions, and a part of the last one."""
    for number in range(-(-rows // ROWS_PER_DAY)):
        count = min(ROWS_PER_DAY, rows - number * ROWS_PER_DAY)
        yield _FIRST_DAY + timedelta(days=number), _day(number, count, rng)


def _day(number: int, rows: int, rng: np.random.Generator) -> pa.Table:
    places = np.arange(rows)
    campaign, hour, segment = places % _CAMPAIGNS, places // _CAMPAIGNS % 24, places // (_CAMPAIGNS * 24)
    day = _FIRST_DAY + timedelta(days=number)
    midnight = (day - date(1970, 1, 1)).days * 86_400_000_000
    impressions = rng.poisson(400, rows)
    clicks = rng.binomial(impressions, 0.03)
    spend = (clicks * rng.uniform(0.5e6, 1.5e6, rows)).astype(np.int64)
    conversions = rng.binomial(clicks, 0.05)
    names = pa.array([f"campaign-{each:02d}" for each in range(_CAMPAIGNS)])
    columns = {
        "id": pc.binary_join_element_wise(day.isoformat(), pa.array(places).cast(pa.string()), "/"),
        "at": pa.array(midnight + hour * 3_600_000_000).cast(pa.timestamp("us", tz="UTC")),
        "phase": pa.repeat("simulation", rows),
        "source": pa.repeat("bench", rows),
        "campaign": names.take(pa.array(campaign)),
        "policy": pa.array(["policy-a", "policy-b"]).take(pa.array(campaign % 2)),
        "episode": pc.binary_join_element_wise("episode", names.take(pa.array(campaign)), "-"),
        "step": pa.array((number * 24 + hour).astype(np.int32)),
        "segment": pa.array([f"segment-{each}" for each in range(_SEGMENTS)]).take(pa.array(segment)),
        "bid_micros": pa.array(rng.integers(100_000, 3_000_000, rows)),
        "action": pa.array(rng.normal(0, 1, rows)),
        "density": pa.array(rng.uniform(0.05, 0.4, rows)),
        "density_kind": pa.repeat("recorded", rows),
        "budget_left_micros": pa.array(rng.integers(0, 10**9, rows)),
        "reward": pa.array(rng.normal(0.01, 0.02, rows)),
        "impressions": pa.array(impressions),
        "clicks": pa.array(clicks),
        "conversions": pa.array(conversions.astype(np.float64)),
        "spend_micros": pa.array(spend),
        "value_micros": pa.array(conversions * 20_000_000),
    }
    schema = TABLES[TableName.DECISIONS].columns
    return pa.table([columns[name] for name in schema.names], schema=schema)
