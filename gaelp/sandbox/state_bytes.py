"""A product's state as bytes: its arrays one after the other, compressed, without pickle; equal states, equal bytes."""

import io
import zlib

import numpy as np

from gaelp.sandbox.auctions.exchange_arrays import ProductState

__all__ = ["pack_state", "unpack_state"]

_FAST = 1  # level of compression: a snapshot is taken every simulated day


def pack_state(state: ProductState) -> bytes:
    """Everything that `unpack_state` gives back."""
    buffer = io.BytesIO()
    for array in state:
        np.lib.format.write_array(buffer, array, allow_pickle=False)
    return zlib.compress(buffer.getvalue(), _FAST)


def unpack_state(data: bytes) -> ProductState:
    """A state of its own; ValueError or zlib.error if the bytes are damaged."""
    buffer = io.BytesIO(zlib.decompress(data))
    return ProductState(**{name: np.lib.format.read_array(buffer, allow_pickle=False) for name in ProductState._fields})
