"""Rows of decisions that keep every expectation."""

import pandas as pd
import pytest

from gaelp.storage.schema import TableName, empty_table


@pytest.fixture
def decisions():
    """Twelve hours of two episodes."""
    rows = 24
    values = {
        "id": [f"d{row}" for row in range(rows)],
        "at": [pd.Timestamp("2024-01-01", tz="UTC") + pd.Timedelta(hours=row % 12) for row in range(rows)],
        "phase": "simulation",
        "source": "run-1",
        "campaign": "spring",
        "episode": [f"e{row // 12}" for row in range(rows)],
        "step": [row % 12 for row in range(rows)],
        "segment": "all",
        "bid_micros": 1000,
        "impressions": 10.0,
        "clicks": 1.0,
        "spend_micros": 9000.0,
    }
    empty = dict.fromkeys(empty_table(TableName.DECISIONS).column_names)
    return pd.DataFrame({**empty, **values}, index=range(rows))
