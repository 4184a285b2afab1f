"""pandas computes what the jobs compute."""

import numpy as np

from gaelp.bench.decision_rows import decision_days
from gaelp.bench.pandas_peer import aggregate_with_pandas, redact_with_pandas
from gaelp.jobs.episode_metrics import METRIC_INPUTS, finish_metrics, merge_partial_metrics, partial_metrics
from gaelp.jobs.redaction import redact_stored
from gaelp.storage.schema import TableName

KEY = b"0123456789abcdef"


def test_pandas_and_the_job_agree_to_the_bit():
    table = next(decision_days(2000, np.random.default_rng(3)))[1]
    redacted = redact_stored(TableName.DECISIONS, table, KEY)
    frame = redact_with_pandas(table.to_pandas(), KEY)
    assert frame["id"].tolist() == redacted["id"].to_pylist()
    expected = finish_metrics(merge_partial_metrics([partial_metrics(redacted.select(list(METRIC_INPUTS))).valid]))
    assert aggregate_with_pandas(frame).equals(expected)
