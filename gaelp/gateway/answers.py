"""Decisions as JSON or as an Arrow stream."""

import numpy as np
import pyarrow as pa
import pydantic_core

from gaelp.gateway.decider import Decided

__all__ = ["arrow_answer", "json_answer"]


def json_answer(decided: Decided) -> bytes:
    """One object a campaign; `stood_in_for` names the version that should have decided and could not."""
    columns = (
        decided.hour.tolist(),
        decided.version.tolist(),
        decided.bid_micros.tolist(),
        decided.pace.tolist(),
        decided.creative.tolist(),
        decided.assigned.tolist(),
        decided.repeated.tolist(),
    )
    rows = [
        {
            "campaign": name,
            "hour": hour,
            "version": version,
            "bid_micros": bids,
            "pace": pace,
            "creative": None if creative[0] < 0 else creative,
            "stood_in_for": None if assigned == version or repeated else assigned,
            "repeated": repeated,
        }
        for name, hour, version, bids, pace, creative, assigned, repeated in zip(
            decided.campaigns, *columns, strict=True
        )
    ]
    return pydantic_core.to_json({"decisions": rows})


def arrow_answer(decided: Decided) -> bytes:
    """The same column by column; creatives are -1 where none was chosen."""
    width = decided.bid_micros.shape[1]
    stood_in = np.where(decided.repeated | (decided.assigned == decided.version), 0, decided.assigned)
    columns = {
        "campaign": pa.array(decided.campaigns, pa.string()),
        "hour": pa.array(decided.hour),
        "version": pa.array(decided.version),
        "bid_micros": pa.FixedSizeListArray.from_arrays(pa.array(decided.bid_micros.ravel()), width),
        "pace": pa.array(decided.pace),
        "creative": pa.FixedSizeListArray.from_arrays(pa.array(decided.creative.ravel()), width),
        "stood_in_for": pa.array(stood_in),
        "repeated": pa.array(decided.repeated),
    }
    table = pa.table(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
