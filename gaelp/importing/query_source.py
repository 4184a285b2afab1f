"""The result of a BigQuery query as rows to import: its cost is checked first, and parameters stay out of its text."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import chain
from typing import Protocol

import pyarrow as pa

from gaelp.config.settings import StorageSettings
from gaelp.errors import BadInput, ComponentMissing, DataError
from gaelp.importing.column_mapping import ImportMapping
from gaelp.importing.row_source import RowSource, table_source

__all__ = ["QueryClient", "bigquery_client", "parameters_of", "query_source"]


class QueryClient(Protocol):
    """What is needed of a client of BigQuery."""

    def check_cost(self, query: str, values: Mapping[str, str], /) -> None:
        """Refuse a query that would read more than allowed."""
        ...

    def tables(self, query: str, values: Mapping[str, str], schema: None, /) -> Iterator[pa.Table]:
        """Yield the rows of a query."""
        ...


def query_source(client: QueryClient, query: str, values: Mapping[str, str], mapping: ImportMapping) -> RowSource:
    """Start a query whose rows are mapped like those of a file; Refused if it would cost too much."""
    client.check_cost(query, values)
    tables = client.tables(query, values, None)
    first = next(tables, None)
    if first is None:
        raise DataError("the query returned no row; allowed: at least one. Widen it.")
    text = "\n".join([query, *(f"{name}={value}" for name, value in sorted(values.items()))])
    name = f"query-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    parts: Callable[[], Iterable[pa.Table]] = lambda: chain([first], tables)  # noqa: E731 - read once, by the import
    return table_source(parts, first.column_names, name, mapping, stored_as=f"import:{name}")


def parameters_of(texts: Sequence[str]) -> dict[str, str]:
    """Parameters given as NAME=VALUE."""
    values = dict(text.partition("=")[::2] for text in texts)
    if any("=" not in text for text in texts) or not all(name.isidentifier() for name in values):
        raise BadInput(f"--parameter: saw {', '.join(texts)}; allowed: NAME=VALUE, and @NAME in the query.")
    return values


def bigquery_client(settings: StorageSettings) -> QueryClient:
    """The client of the project in the settings."""
    if settings.project is None:
        raise BadInput("a query needs a project of Google Cloud: give --set storage.project=NAME")
    try:
        module = import_module("gaelp.storage.bigquery_client")
    except ImportError as problem:
        raise ComponentMissing(
            f"BigQuery needs a package that is not installed ({problem.name}): run `pip install 'gaelp[bigquery]'`"
        ) from problem
    place = module.BigQueryPlace(settings.project, settings.dataset, settings.max_bytes_billed)
    client: QueryClient = module.BigQueryQueries(place)
    return client
