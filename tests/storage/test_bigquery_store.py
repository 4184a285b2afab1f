"""The store in BigQuery, on an emulator that speaks its REST and Storage Write API."""

import uuid
from functools import partial

import pytest

from gaelp.storage.bigquery_client import BigQueryPlace
from gaelp.storage.bigquery_store import BigQueryStore
from gaelp.storage.conformance import StoreConformance


@pytest.fixture
def place(bigquery_emulator):
    rest, grpc = bigquery_emulator
    return BigQueryPlace("gaelp", f"d{uuid.uuid4().hex[:12]}", 10**9, rest, grpc)


class TestBigQuery(StoreConformance):
    @pytest.fixture(autouse=True)
    def _place(self, place):
        self.place = place

    def fresh(self):
        return partial(BigQueryStore, self.place)
