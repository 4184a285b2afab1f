"""The tables of a BigQuery dataset: partitioned by day, clustered, the dataset labelled with the schema version."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from google.cloud import bigquery

from gaelp.errors import DataError
from gaelp.storage.bigquery_client import CALL_SECONDS, BigQueryQueries, translated
from gaelp.storage.migrations import check_version
from gaelp.storage.schema import SCHEMA_VERSION, TABLES, TableName

__all__ = ["APPEND", "HOLDS", "STAGED_DAYS", "create_tables", "staging_name"]

APPEND = "append_id"  # a further column: which append stored a row
HOLDS = "legal_holds"
STAGED_DAYS = 2  # rows that were staged and not committed expire
_CLUSTERED_BY = ("phase", "source", "campaign", "policy")
_VERSION = "schema_version"
_TYPES: tuple[tuple[Any, str], ...] = (
    (pa.types.is_timestamp, "TIMESTAMP"),
    (pa.types.is_date, "DATE"),
    (pa.types.is_boolean, "BOOL"),
    (pa.types.is_floating, "FLOAT64"),
    (pa.types.is_integer, "INT64"),
    (pa.types.is_string, "STRING"),
)


def staging_name(name: TableName) -> str:
    """The table that takes rows before they are committed."""
    return f"{name}_staging"


def create_tables(queries: BigQueryQueries) -> None:
    """Create the dataset and the tables that are missing; DataError if a newer release made them."""
    client, place = queries.client, queries.place
    with translated(place):
        dataset = bigquery.Dataset(f"{place.project}.{place.dataset}")
        dataset.labels = {_VERSION: str(SCHEMA_VERSION)}
        dataset = client.create_dataset(dataset, exists_ok=True, timeout=CALL_SECONDS)
        _check_version(dataset)
        existing = {item.table_id for item in client.list_tables(place.dataset, timeout=CALL_SECONDS)}
        for table in _tables(queries):
            if table.table_id not in existing:
                client.create_table(table, exists_ok=True, timeout=CALL_SECONDS)


def _check_version(dataset: bigquery.Dataset) -> None:
    where = f"BigQuery dataset {dataset.full_dataset_id}"
    version = dataset.labels.get(_VERSION, "")
    if not version.isdigit():
        raise DataError(f"{where} has no label {_VERSION}: it was not made by gaelp; name another storage.dataset")
    check_version(int(version), where)


def _tables(queries: BigQueryQueries) -> Iterator[bigquery.Table]:
    for name in TableName:
        yield _stored_table(queries, name)
        yield _staging_table(queries, name)
    fields = [bigquery.SchemaField(column, "STRING", "REQUIRED") for column in ("source", "reason")]
    yield bigquery.Table(queries.place.path(HOLDS), schema=fields)


def _stored_table(queries: BigQueryQueries, name: TableName) -> bigquery.Table:
    table = bigquery.Table(queries.place.path(name), schema=_fields(name))
    table.time_partitioning = bigquery.TimePartitioning(field="at", type_=bigquery.TimePartitioningType.DAY)
    table.clustering_fields = list(_CLUSTERED_BY)
    table.description = TABLES[name].purpose
    return table


def _staging_table(queries: BigQueryQueries, name: TableName) -> bigquery.Table:
    table = bigquery.Table(queries.place.path(staging_name(name)), schema=_fields(name))
    table.time_partitioning = bigquery.TimePartitioning(
        type_=bigquery.TimePartitioningType.DAY, expiration_ms=STAGED_DAYS * 86_400_000
    )
    table.clustering_fields = [APPEND]
    return table


def _fields(name: TableName) -> list[bigquery.SchemaField]:
    fields = [
        bigquery.SchemaField(
            field.name,
            next(kind for fits, kind in _TYPES if fits(field.type)),
            "NULLABLE" if field.nullable else "REQUIRED",
            description=field.metadata[b"meaning"].decode(),
        )
        for field in TABLES[name].columns
    ]
    return [*fields, bigquery.SchemaField(APPEND, "STRING", "REQUIRED", description="the append that stored the row")]
