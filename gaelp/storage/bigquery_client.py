"""Calls to BigQuery: each has a deadline and at most a few retries, and a query that would cost too much is refused."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import grpc
import pyarrow as pa
from google.api_core.client_options import ClientOptions
from google.api_core.exceptions import Aborted, BadRequest, Conflict, GoogleAPICallError, RetryError, ServiceUnavailable
from google.api_core.retry import Retry
from google.auth.credentials import AnonymousCredentials
from google.auth.exceptions import GoogleAuthError
from google.cloud import bigquery
from google.cloud.bigquery_storage_v1 import BigQueryReadClient, BigQueryWriteClient
from google.cloud.bigquery_storage_v1.services.big_query_write.transports import BigQueryWriteGrpcTransport

from gaelp.errors import ComponentMissing, GaelpError, Refused
from gaelp.storage.store import SCAN_ROWS

__all__ = [
    "CALL_SECONDS",
    "JOB_SECONDS",
    "BigQueryPlace",
    "BigQueryQueries",
    "QueryValue",
    "translated",
    "write_client",
]

QueryValue = str | datetime | date | Sequence[str]

CALL_SECONDS = 60.0  # of one request
JOB_SECONDS = 600.0  # of one query or load job
_ATTEMPTS = 5  # of a commit that another one aborted
_RETRY = Retry(timeout=CALL_SECONDS)


@dataclass(frozen=True, slots=True)
class BigQueryPlace:
    """The dataset, the most that one query may read, and the addresses of an emulator, if it is one."""

    project: str
    dataset: str
    max_bytes_billed: int
    emulator_rest: str | None = None  # such as http://127.0.0.1:9050
    emulator_grpc: str | None = None  # such as 127.0.0.1:9060

    def table(self, name: str) -> str:
        """The name of a table in a query, quoted."""
        return f"`{self.project}.{self.dataset}.{name}`"

    def path(self, name: str) -> str:
        """The name of a table for the client."""
        return f"{self.project}.{self.dataset}.{name}"


class BigQueryQueries:
    """Runs parameterised queries in a dataset."""

    def __init__(self, place: BigQueryPlace) -> None:
        self.place = place
        self.client = _client(place)
        self._reader = BigQueryReadClient() if place.emulator_rest is None else None

    def run(self, query: str, values: Mapping[str, QueryValue] | None = None) -> tuple[list[tuple[Any, ...]], int]:
        """Return the rows of a query, and how many it changed."""
        self.check_cost(query, values)
        with translated(self.place):
            job = self._start(query, values)
            rows = [tuple(row.values()) for row in job.result(retry=_RETRY, timeout=JOB_SECONDS)]
            return rows, job.num_dml_affected_rows or 0

    def tables(self, query: str, values: Mapping[str, QueryValue], schema: pa.Schema | None) -> Iterator[pa.Table]:
        """Yield the rows of a query in tables of at most SCAN_ROWS rows; a page at a time is in memory.

        Without a schema, the columns are those of the query.
        """
        with translated(self.place):
            rows = self._start(query, values).result(retry=_RETRY, timeout=JOB_SECONDS, page_size=SCAN_ROWS)
            for batch in rows.to_arrow_iterable(bqstorage_client=self._reader, max_queue_size=1):
                for first in range(0, batch.num_rows, SCAN_ROWS):
                    rows_of_page = pa.table(batch.slice(first, SCAN_ROWS))
                    yield rows_of_page if schema is None else rows_of_page.select(schema.names).cast(schema)

    def run_script(self, script: str) -> list[tuple[Any, ...]]:
        """Run a transaction; one that another transaction aborted is tried again, a few times."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                job = self._start(script, None)
                return [tuple(row.values()) for row in job.result(retry=_RETRY, timeout=JOB_SECONDS)]
            except (Aborted, BadRequest, Conflict, ServiceUnavailable) as problem:
                aborted = isinstance(problem, Aborted | ServiceUnavailable) or "aborted" in str(problem).lower()
                if not aborted or attempt == _ATTEMPTS:
                    raise _failed(self.place, problem) from problem
                time.sleep(0.1 * 2**attempt)
            except (GoogleAPICallError, GoogleAuthError, RetryError, OSError) as problem:
                raise _failed(self.place, problem) from problem
        raise AssertionError("unreachable: the last attempt returns or raises")

    def check_cost(self, query: str, values: Mapping[str, QueryValue] | None = None) -> None:
        """Refuse a query that reads more than allowed, by a dry run, which is free."""
        with translated(self.place):
            job = self._start(query, values, dry_run=True)
            size = job.total_bytes_processed or 0
        limit = self.place.max_bytes_billed
        if size > limit:
            raise Refused(
                f"the query would read {size:,} bytes, storage.max_bytes_billed allows {limit:,}: ask for fewer days or"
                " columns, or raise the limit"
            )

    def _start(
        self, query: str, values: Mapping[str, QueryValue] | None, *, dry_run: bool = False
    ) -> bigquery.QueryJob:
        config = bigquery.QueryJobConfig(
            query_parameters=[_parameter(name, value) for name, value in (values or {}).items()],
            dry_run=dry_run,
            use_query_cache=False,
            maximum_bytes_billed=None if dry_run else max(self.place.max_bytes_billed, 1),
        )
        return self.client.query(query, job_config=config, retry=_RETRY, job_retry=None, timeout=CALL_SECONDS)

    def close(self) -> None:
        """Close the connections."""
        self.client.close()


def write_client(place: BigQueryPlace) -> BigQueryWriteClient:
    """Return the client of the Storage Write API."""
    with translated(place):
        if place.emulator_grpc is None:
            return BigQueryWriteClient()
        channel = grpc.insecure_channel(place.emulator_grpc)
        return BigQueryWriteClient(transport=BigQueryWriteGrpcTransport(channel=channel))


def _client(place: BigQueryPlace) -> bigquery.Client:
    with translated(place):
        if place.emulator_rest is None:
            return bigquery.Client(project=place.project)
        return bigquery.Client(
            project=place.project,
            credentials=AnonymousCredentials(),
            client_options=ClientOptions(api_endpoint=place.emulator_rest),
        )


def _parameter(name: str, value: QueryValue) -> bigquery.ScalarQueryParameter | bigquery.ArrayQueryParameter:
    if isinstance(value, str):
        return bigquery.ScalarQueryParameter(name, "STRING", value)
    if isinstance(value, datetime):
        return bigquery.ScalarQueryParameter(name, "TIMESTAMP", value)
    if isinstance(value, date):
        return bigquery.ScalarQueryParameter(name, "DATE", value)
    return bigquery.ArrayQueryParameter(name, "STRING", list(value))


@contextmanager
def translated(place: BigQueryPlace) -> Iterator[None]:
    """Report what BigQuery refuses as an error of this project."""
    try:
        yield
    except (GoogleAPICallError, RetryError, OSError) as problem:
        raise _failed(place, problem) from problem
    except GoogleAuthError as problem:
        raise ComponentMissing(
            f"no credentials for BigQuery ({problem}): run `gcloud auth application-default login`, or set"
            " GOOGLE_APPLICATION_CREDENTIALS to the file of a service account"
        ) from problem


def _failed(place: BigQueryPlace, problem: Exception) -> GaelpError:
    reason = (str(problem).splitlines() or [type(problem).__name__])[0]
    return GaelpError(
        f"BigQuery, dataset {place.project}.{place.dataset}: {reason:.300}. The call can be repeated: what is stored"
        " already is not stored again"
    )
