"""The exchange as bytes: the state of every product, its past and its campaigns as they serve."""

import io
import json
import zipfile
import zlib
from collections.abc import Iterable
from typing import Any, NamedTuple

from gaelp.errors import DataError
from gaelp.sandbox.auctions.exchange_arrays import ProductState
from gaelp.sandbox.product_market import PastState, ProductMarket
from gaelp.sandbox.served_campaign_json import campaign_from_json, campaign_to_json
from gaelp.sandbox.serving import ServedCampaign
from gaelp.sandbox.state_bytes import pack_state, unpack_state

__all__ = ["StoredProduct", "read_snapshot", "write_snapshot"]

_FORMAT = 1
_HEAD = "head.json"


class StoredProduct(NamedTuple):
    """A product without its traits, which follow from the spec and its name."""

    name: str
    state: ProductState
    served: dict[int, ServedCampaign]
    past: list[PastState]
    changes: list[tuple[int, str]]


def write_snapshot(tick: int, fingerprint: str, products: Iterable[ProductMarket]) -> bytes:
    """Everything that `read_snapshot` gives back; equal exchanges give equal bytes."""
    buffer = io.BytesIO()
    listed = []
    with zipfile.ZipFile(buffer, "w") as archive:
        for n, product in enumerate(products):
            archive.writestr(zipfile.ZipInfo(f"{n}/now"), pack_state(product.state))
            for k, past in enumerate(product.past):
                archive.writestr(zipfile.ZipInfo(f"{n}/{k}"), past.packed)
            listed.append(_entry(product))
        head = {"format": _FORMAT, "tick": tick, "spec": fingerprint, "products": listed}
        archive.writestr(zipfile.ZipInfo(_HEAD), zlib.compress(json.dumps(head).encode(), 1))
    return buffer.getvalue()


def _entry(product: ProductMarket) -> dict[str, Any]:
    return {
        "name": product.name,
        "served": _packed(product.served.values()),
        "past": [{"tick": past.tick, "served": _packed(past.served.values())} for past in product.past],
        "changes": product.changes,
    }


def read_snapshot(data: bytes, fingerprint: str) -> tuple[int, list[StoredProduct]]:
    """The tick and the products of a snapshot; DataError if it is damaged or of another spec."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            head = json.loads(zlib.decompress(archive.read(_HEAD)))
            _check_origin(head, fingerprint)
            return int(head["tick"]), [_product(archive, n, entry) for n, entry in enumerate(head["products"])]
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, EOFError, OSError) as problem:
        raise DataError(f"the snapshot of the exchange is damaged ({problem}): reset the sandbox") from problem


def _check_origin(head: dict[str, Any], fingerprint: str) -> None:
    if (head["format"], head["spec"]) != (_FORMAT, fingerprint):
        raise DataError(
            f"the snapshot has format {head['format']} and was made with spec {head['spec'][:12]}; this is format"
            f" {_FORMAT} with spec {fingerprint[:12]}: use that of the snapshot, or reset the sandbox"
        )


def _product(archive: zipfile.ZipFile, n: int, entry: dict[str, Any]) -> StoredProduct:
    past = [
        PastState(item["tick"], archive.read(f"{n}/{k}"), _unpacked(item["served"]))
        for k, item in enumerate(entry["past"])
    ]
    state = unpack_state(archive.read(f"{n}/now"))
    changes = [(at, text) for at, text in entry["changes"]]
    return StoredProduct(entry["name"], state, _unpacked(entry["served"]), past, changes)


def _packed(campaigns: Iterable[ServedCampaign]) -> list[str]:
    return [campaign_to_json(campaign) for campaign in campaigns]


def _unpacked(texts: list[str]) -> dict[int, ServedCampaign]:
    campaigns = [campaign_from_json(text) for text in texts]
    return {campaign.id: campaign for campaign in campaigns}
