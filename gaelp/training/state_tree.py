"""Take a nested state apart into arrays and plain JSON, and put it together again, bit for bit.

A state is made of dicts (keys: text or whole numbers), lists and tuples that hold torch tensors, NumPy arrays and
scalars, whole numbers of any size, floats (NaN and infinity too), booleans, text and None. Types come back as they
were, with four exceptions: an OrderedDict comes back as a dict, a tensor on the CPU, strides as C order, and what
shared memory comes back apart.

The JSON part holds the structure. None, booleans, text, lists, finite floats and whole numbers below 2**63 are written
as they are; all else is an object with one key, its kind, such as {"tuple": [...]} or {"torch": "name of array"}.
"""

import json
import math
import struct
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from gaelp.errors import BadInput, DataError

__all__ = ["Array", "flatten", "tensors_in", "unflatten"]

Array = npt.NDArray[Any]

_DEPTH_MAX = 100
_PLAIN_INT_LIMIT = 2**63
_NUMPY_TYPES = (
    *(np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
    *(np.float16, np.float32, np.float64),
)
_DTYPES = frozenset(np.dtype(kind) for kind in _NUMPY_TYPES)
_DTYPE_NAMES = ", ".join(np.dtype(kind).name for kind in _NUMPY_TYPES)
_TORCH_DTYPES = frozenset(
    (
        *(torch.bool, torch.int8, torch.int16, torch.int32, torch.int64),
        *(torch.uint8, torch.uint16, torch.uint32, torch.uint64),
        *(torch.float16, torch.float32, torch.float64, torch.bfloat16),
    )
)
_ALLOWED = "a dict, list, tuple, torch tensor, NumPy array or scalar, int, float, bool, text or None"


def flatten(state: object) -> tuple[dict[str, Array], str]:
    """The arrays of a state by name (C order, some share the state's memory), and the rest as a line of JSON."""
    arrays: dict[str, Array] = {}
    skeleton = _Taking(arrays).node(state, ())
    return arrays, json.dumps(skeleton, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def unflatten(arrays: dict[str, Array], skeleton: str) -> Any:
    """The state that `flatten` took apart, in memory of its own; `arrays` is emptied on the way."""
    try:
        state = _Putting(arrays).node(json.loads(skeleton, parse_constant=_no_constant))
    except RecursionError:
        raise DataError(f"the state is nested too deeply: at most {_DEPTH_MAX} levels are written") from None
    except ValueError as problem:
        raise DataError(f"the state's plain part cannot be read: {problem}") from problem
    if arrays:
        raise DataError(f"the state does not say where its array {min(arrays)!r} belongs")
    return state


class _Taking:
    """Turns values into JSON nodes and collects the arrays met on the way."""

    def __init__(self, arrays: dict[str, Array]) -> None:
        self._arrays = arrays

    def node(self, value: object, path: tuple[str | int, ...]) -> Any:
        """The JSON node of one value."""
        if len(path) > _DEPTH_MAX:
            raise BadInput(
                f"{_shown(path[:8])}/...: the state is nested more than {_DEPTH_MAX} levels deep, or holds itself:"
                " give plain data without circles"
            )
        if value is None or type(value) in {bool, str}:
            return value
        if type(value) is int:
            return value if abs(value) < _PLAIN_INT_LIMIT else {"int": hex(value)}
        if type(value) is float:
            return value if math.isfinite(value) else {"float": struct.pack(">d", value).hex()}
        return self._holder(value, path)

    def _holder(self, value: object, path: tuple[str | int, ...]) -> Any:
        if type(value) is list:
            return [self.node(item, (*path, place)) for place, item in enumerate(value)]
        if type(value) is tuple:
            return {"tuple": [self.node(item, (*path, place)) for place, item in enumerate(value)]}
        if type(value) is dict or type(value) is OrderedDict:
            return {"dict": [[_key(key, path), self.node(item, (*path, key))] for key, item in value.items()]}
        if type(value) is torch.Tensor:
            return self._tensor(value, path)
        if type(value) is np.ndarray:
            return self._numpy("numpy", value, path)
        if isinstance(value, np.generic):
            return self._numpy("numpy-scalar", np.asarray(value), path)
        raise BadInput(f"{_shown(path)}: saw {_kind(value)}; allowed: {_ALLOWED}. {_way_out(value)}")

    def _tensor(self, tensor: torch.Tensor, path: tuple[str | int, ...]) -> dict[str, str]:
        if tensor.layout is not torch.strided or tensor.device.type == "meta":
            kind = f"a {tensor.layout} tensor on {tensor.device}"
            raise BadInput(f"{_shown(path)}: saw {kind}; allowed: a dense one with data")
        if tensor.requires_grad:
            raise BadInput(f"{_shown(path)}: saw a tensor that requires a gradient; give its .detach()")
        if tensor.dtype not in _TORCH_DTYPES:
            raise BadInput(f"{_shown(path)}: saw {tensor.dtype}; allowed: {_DTYPE_NAMES}, bfloat16. Convert it.")
        dense = tensor.resolve_neg().cpu()
        if dense.dtype is torch.bfloat16:  # NumPy has none: its bits are stored
            return self._numpy("torch-bfloat16", dense.view(torch.uint16).numpy(), path)
        return self._numpy("torch", dense.numpy(), path)

    def _numpy(self, kind: str, array: Array, path: tuple[str | int, ...]) -> dict[str, str]:
        if array.dtype not in _DTYPES or not array.dtype.isnative:
            raise BadInput(f"{_shown(path)}: saw an array of {array.dtype}; allowed: {_DTYPE_NAMES}. Convert it.")
        # Numbered, since two paths may read alike; in ASCII, since a key may hold what UTF-8 cannot.
        name = f"{len(self._arrays)}:{_shown(path)}"
        self._arrays[name] = np.asarray(array, order="C")
        return {kind: name}


class _Putting:
    """Turns JSON nodes back into values; every array is used exactly once."""

    def __init__(self, arrays: dict[str, Array]) -> None:
        self._arrays = arrays
        self._kinds: dict[str, Callable[[Any], Any]] = {
            "int": lambda text: int(_text(text), 16),
            "float": _float,
            "tuple": lambda items: tuple(self._items(items)),
            "dict": self._dict,
            "numpy": lambda name: self._array(name).copy(),
            "numpy-scalar": self._scalar,
            # A copy in torch's own memory is aligned as in the run that saved; the last bit of a sum may depend on it.
            "torch": lambda name: torch.tensor(self._array(name)),
            "torch-bfloat16": self._bfloat16,
        }

    def node(self, node: Any) -> Any:
        """The value of one JSON node."""
        if isinstance(node, list):
            return self._items(node)
        if not isinstance(node, dict):
            return node
        kind, content = next(iter(node.items())) if len(node) == 1 else (None, None)
        if kind not in self._kinds:
            raise DataError(f"the state holds an entry of unknown kind {sorted(node)[:3]}")
        return self._kinds[kind](content)

    def _items(self, items: Any) -> list[Any]:
        if not isinstance(items, list):
            raise DataError(f"the state holds {_kind(items)} where a list belongs")
        return [self.node(item) for item in items]

    def _dict(self, pairs: Any) -> dict[str | int, Any]:
        rebuilt: dict[str | int, Any] = {}
        for pair in pairs if isinstance(pairs, list) else [pairs]:
            if not (isinstance(pair, list) and len(pair) == 2):
                raise DataError(f"the state holds {_kind(pair)} where a key and its value belong")
            key, item = pair
            if type(key) not in {str, int} or key in rebuilt:
                raise DataError(f"the state holds the key {key!r} twice, or it is neither text nor a whole number")
            rebuilt[key] = self.node(item)
        return rebuilt

    def _array(self, name: Any) -> Array:
        array = self._arrays.pop(_text(name), None)
        if array is None:
            raise DataError(f"the state's array {name!r} is missing or used twice")
        if array.dtype not in _DTYPES:
            raise DataError(f"the state's array {name!r} holds {array.dtype}; allowed: {_DTYPE_NAMES}")
        return array

    def _scalar(self, name: Any) -> Any:
        array = self._array(name)
        if array.shape != ():
            raise DataError(f"the state's scalar {name!r} has the shape {array.shape}")
        return array[()]

    def _bfloat16(self, name: Any) -> torch.Tensor:
        array = self._array(name)
        if array.dtype != np.uint16:
            raise DataError(f"the state's bfloat16 tensor {name!r} holds {array.dtype}, not the bits as uint16")
        return torch.tensor(array).view(torch.bfloat16)


def _key(key: object, path: tuple[str | int, ...]) -> str | int:
    if type(key) is str or (type(key) is int and abs(key) < _PLAIN_INT_LIMIT):
        return key
    raise BadInput(f"{_shown(path)}: saw a key that is {_kind(key)}; allowed: text or a whole number below 2**63")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise DataError(f"the state holds {_kind(value)} where text belongs")
    return value


def _float(value: Any) -> float:
    bits = bytes.fromhex(_text(value))
    if len(bits) != 8:
        raise DataError(f"the state holds a float of {len(bits)} bytes, not 8")
    return float(struct.unpack(">d", bits)[0])


def _no_constant(name: str) -> float:
    raise DataError(f"the state's plain part holds {name}, which is not JSON")


def _shown(path: tuple[str | int, ...]) -> str:
    return "/".join(str(part).encode("ascii", "backslashreplace").decode("ascii") for part in path) or "state"


def _kind(value: object) -> str:
    return f"a {type(value).__module__}.{type(value).__qualname__}".replace("builtins.", "")


def _way_out(value: object) -> str:
    if isinstance(value, torch.Tensor):
        return "Give its .detach()."
    if isinstance(value, np.ndarray):
        return "Give np.asarray of it."
    return "Give its plain values."


def tensors_in(state: Mapping[str, Any], path: str = "") -> dict[str, torch.Tensor]:
    """Every tensor of a learner's state, by its path."""
    tensors: dict[str, torch.Tensor] = {}
    for name, value in state.items():
        place = f"{path}/{name}" if path else str(name)
        if isinstance(value, Mapping):
            tensors |= tensors_in(value, place)
        elif isinstance(value, torch.Tensor):
            tensors[place] = value
    return tensors
