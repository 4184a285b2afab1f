import pyarrow as pa
import pytest

from gaelp.config.settings import StorageSettings
from gaelp.errors import BadInput, DataError, Refused
from gaelp.importing.known_formats import AUCTION_COLUMNS
from gaelp.importing.query_source import bigquery_client, parameters_of, query_source

ROWS = pa.table({"time": ["2024-01-01"], "bid_micros": [2], "price_micros": [1], "won": [True]})


class Client:
    def __init__(self, tables=(ROWS, ROWS), refuse=False):
        self.results, self.refuse, self.asked = tables, refuse, []

    def check_cost(self, query, values):
        self.asked.append(("cost", query, dict(values)))
        if self.refuse:
            raise Refused("too many bytes")

    def tables(self, query, values, schema):
        self.asked.append(("rows", query, dict(values)))
        yield from self.results


def test_a_query_is_a_source_of_rows_after_its_cost_was_checked():
    client = Client()
    source = query_source(client, "SELECT @day", {"day": "x"}, AUCTION_COLUMNS)
    assert [rows.line.tolist() for rows in source.rows()] == [[1], [2]]
    assert client.asked == [("cost", "SELECT @day", {"day": "x"}), ("rows", "SELECT @day", {"day": "x"})]
    assert source.stored_as.startswith("import:query-")


def test_a_query_that_costs_too_much_is_not_run():
    client = Client(refuse=True)
    with pytest.raises(Refused):
        query_source(client, "SELECT 1", {}, AUCTION_COLUMNS)
    assert [call[0] for call in client.asked] == ["cost"]


def test_a_query_without_rows_is_refused():
    with pytest.raises(DataError, match="returned no row"):
        query_source(Client(tables=()), "SELECT 1", {}, AUCTION_COLUMNS)


def test_parameters_are_name_and_value():
    assert parameters_of(["day=2024-01-01", "note=a=b"]) == {"day": "2024-01-01", "note": "a=b"}
    with pytest.raises(BadInput, match="allowed: NAME=VALUE"):
        parameters_of(["day"])


def test_a_query_needs_a_project():
    with pytest.raises(BadInput, match=r"storage\.project=NAME"):
        bigquery_client(StorageSettings())
