"""Rows into a staging table of BigQuery: by an exactly-once stream of the Storage Write API, many by a load job."""

import io
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq
from google.api_core.exceptions import Aborted, DeadlineExceeded, InternalServerError, ServiceUnavailable
from google.cloud import bigquery
from google.cloud.bigquery_storage_v1 import BigQueryWriteClient, types

from gaelp.errors import GaelpError
from gaelp.storage.bigquery_client import CALL_SECONDS, JOB_SECONDS, BigQueryQueries, translated

__all__ = ["LOAD_ROWS", "load_rows", "stream_rows"]

LOAD_ROWS = 100_000  # from here on a load job is faster than a stream, and free
_REQUEST_BYTES = 4_000_000  # a request may have 10 MB
_ATTEMPTS = 4
_ALREADY_EXISTS = 6  # gRPC's code: the rows of this offset have arrived before
_TRANSIENT = (Aborted, DeadlineExceeded, InternalServerError, ServiceUnavailable)


def stream_rows(client: BigQueryWriteClient, queries: BigQueryQueries, table: str, rows: pa.Table) -> None:
    """Write the rows once: a request that is repeated has the same offset, which the stream recognises."""
    place, parts = queries.place, _parts(rows)
    with translated(place):
        stream = client.create_write_stream(
            parent=f"projects/{place.project}/datasets/{place.dataset}/tables/{table}",
            write_stream=types.WriteStream(type_=types.WriteStream.Type.COMMITTED),
            timeout=CALL_SECONDS,
        )
        done = 0
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                for response in client.append_rows(_requests(stream.name, parts, done), timeout=CALL_SECONDS):
                    _check(response, table)
                    done += 1
                break
            except _TRANSIENT:
                if attempt == _ATTEMPTS:
                    raise
        count = client.finalize_write_stream(name=stream.name, timeout=CALL_SECONDS).row_count
    if count != rows.num_rows:
        raise GaelpError(f"the stream into {table} has {count} rows, {rows.num_rows} were sent: repeat the append")


def load_rows(queries: BigQueryQueries, table: str, rows: pa.Table) -> None:
    """Write many rows by one load job, which stores all of them or none."""
    file = io.BytesIO()
    pq.write_table(_widened(rows), file, compression="zstd")
    file.seek(0)
    config = bigquery.LoadJobConfig(
        source_format=bigquery.SourceFormat.PARQUET,
        write_disposition=bigquery.WriteDisposition.WRITE_APPEND,
        create_disposition=bigquery.CreateDisposition.CREATE_NEVER,
    )
    with translated(queries.place):
        job = queries.client.load_table_from_file(
            file, queries.place.path(table), job_config=config, num_retries=3, timeout=JOB_SECONDS
        )
        job.result(timeout=JOB_SECONDS)


def _parts(rows: pa.Table) -> Sequence[pa.RecordBatch]:
    rows = _widened(rows).combine_chunks()
    per_request = max(1, int(_REQUEST_BYTES * rows.num_rows / max(rows.nbytes, 1)))
    return list(rows.to_batches(max_chunksize=per_request))


def _requests(stream: str, parts: Sequence[pa.RecordBatch], first: int) -> Iterator[types.AppendRowsRequest]:
    offset = sum(part.num_rows for part in parts[:first])
    for part in parts[first:]:
        request = types.AppendRowsRequest(write_stream=stream, offset=offset)
        request.arrow_rows = types.AppendRowsRequest.ArrowData(
            writer_schema=types.ArrowSchema(serialized_schema=part.schema.serialize().to_pybytes()),
            rows=types.ArrowRecordBatch(serialized_record_batch=part.serialize().to_pybytes()),
        )
        yield request
        offset += part.num_rows


def _check(response: types.AppendRowsResponse, table: str) -> None:
    if response.error.code not in (0, _ALREADY_EXISTS):
        rows = "; ".join(f"row {error.index}: {error.message}" for error in response.row_errors[:3])
        raise GaelpError(f"BigQuery refused rows for {table}: {response.error.message} {rows}")


def _widened(rows: pa.Table) -> pa.Table:
    """Whole numbers of 64 bits, which is what BigQuery has; text without a dictionary; no metadata."""
    return rows.cast(pa.schema([pa.field(field.name, _wide_type(field.type)) for field in rows.schema]))


def _wide_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return kind.value_type
    return pa.int64() if pa.types.is_integer(kind) else kind
