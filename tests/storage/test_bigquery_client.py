"""A query that would cost too much is refused, and an answer that does not come is an error."""

import socket
from types import SimpleNamespace

import pytest

from gaelp.errors import GaelpError, Refused
from gaelp.storage import bigquery_client
from gaelp.storage.bigquery_client import BigQueryPlace, BigQueryQueries


def nowhere(limit=100):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return BigQueryQueries(BigQueryPlace("p", "d", limit, f"http://127.0.0.1:{port}", f"127.0.0.1:{port}"))


def test_a_query_above_the_limit_is_refused_with_both_figures(monkeypatch):
    queries, asked = nowhere(), []

    def answer(query, job_config, **_):
        asked.append(job_config.dry_run)
        return SimpleNamespace(total_bytes_processed=1_234_567)

    monkeypatch.setattr(queries.client, "query", answer)
    with pytest.raises(Refused, match=r"would read 1,234,567 bytes, storage\.max_bytes_billed allows 100"):
        queries.run("SELECT 1")
    assert asked == [True]


def test_a_server_that_is_not_there_is_an_error_after_the_deadline(monkeypatch):
    monkeypatch.setattr(bigquery_client, "_RETRY", bigquery_client.Retry(timeout=0.5))
    with pytest.raises(GaelpError, match=r"BigQuery, dataset p\.d: .*The call can be repeated"):
        nowhere().check_cost("SELECT 1")
