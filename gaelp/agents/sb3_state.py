"""Save and restore a model of stable-baselines3 as tensors, numbers and strings, without pickle."""

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.buffers import BaseBuffer
from torch import Tensor

from gaelp.errors import BadInput
from gaelp.experience.saved import SavedState, integer_of, number_of, tensor_of

__all__ = ["buffer_of", "load_model_state", "model_state"]

_WHOLE = ("num_timesteps", "_n_updates", "_n_calls")
_NUMBERS = ("exploration_rate", "_current_progress_remaining")
# Of PCG64, the generator of every Gymnasium space.
_SPACE_WORDS = ("state", "inc")


class _Torch(NamedTuple):
    """The parts of a model that torch saves: networks, single tensors and optimisers, each by name."""

    networks: dict[str, Any]
    tensors: dict[str, Tensor]
    optimisers: dict[str, torch.optim.Optimizer]


def buffer_of(model: BaseAlgorithm) -> BaseBuffer:
    """The model's one buffer of experience."""
    [buffer] = [value for value in vars(model).values() if isinstance(value, BaseBuffer)]
    return buffer


def model_state(model: BaseAlgorithm) -> dict[str, SavedState]:
    """Networks, optimisers, buffer, counters and the action space's generator, as copies."""
    parts = _torch_parts(model)
    networks = {f"{name}.{key}": value.clone() for name, part in parts.networks.items() for key, value in part.items()}
    return {
        "networks": networks | {name: tensor.detach().clone() for name, tensor in parts.tensors.items()},
        "optimisers": {
            f"{name}.{index}.{key}": value.clone() if isinstance(value, Tensor) else value
            for name, optimiser in parts.optimisers.items()
            for index, moments in optimiser.state_dict()["state"].items()
            for key, value in moments.items()
            if value is not None
        },
        "buffer": _buffer_state(buffer_of(model)),
        "counters": {name: getattr(model, name) for name in (*_WHOLE, *_NUMBERS) if hasattr(model, name)},
        "action_space": _space_state(model),
    }


def load_model_state(model: BaseAlgorithm, state: Mapping[str, SavedState]) -> Callable[[], None]:
    """Check that `state` fits; returns a function that restores it."""
    parts = _torch_parts(model)
    checked = {
        name: {key: tensor_of(state["networks"], f"{name}.{key}", like) for key, like in part.items()}
        for name, part in parts.networks.items()
    }
    tensors = {name: tensor_of(state["networks"], name, like.detach()) for name, like in parts.tensors.items()}
    moments = {name: _moments(state["optimisers"], name, optimiser) for name, optimiser in parts.optimisers.items()}
    counters = state["counters"]
    loaded: dict[str, float] = {name: integer_of(counters, name) for name in _WHOLE if hasattr(model, name)}
    loaded |= {name: number_of(counters, name) for name in _NUMBERS if hasattr(model, name)}
    fill = _buffer_filler(buffer_of(model), state["buffer"])
    restore_space = _space_setter(model, state["action_space"])

    def restore() -> None:
        for name, network in checked.items():
            attrgetter(name)(model).load_state_dict(network)
        for name, tensor in tensors.items():
            parts.tensors[name].data.copy_(tensor)
        for name, optimiser in parts.optimisers.items():
            optimiser.load_state_dict({**optimiser.state_dict(), "state": moments[name]})
        for name, number in loaded.items():
            setattr(model, name, number)
        fill()
        restore_space()

    return restore


def _torch_parts(model: BaseAlgorithm) -> _Torch:
    named, tensors = model._get_torch_save_params()
    parts = {name: attrgetter(name)(model) for name in named}
    optimisers = {name: part for name, part in parts.items() if isinstance(part, torch.optim.Optimizer)}
    networks = {name: part.state_dict() for name, part in parts.items() if name not in optimisers}
    return _Torch(networks, {name: attrgetter(name)(model) for name in tensors}, optimisers)


def _moments(saved: SavedState, name: str, optimiser: torch.optim.Optimizer) -> dict[int, dict[str, Any]]:
    """The saved moments of an optimiser by parameter, as copies; without its learning rates."""
    parameters = [parameter for group in optimiser.param_groups for parameter in group["params"]]
    moments: dict[int, dict[str, Any]] = {}
    for path in (path for path in saved if path.rpartition(".")[0].rpartition(".")[0] == name):
        index, kind = path.removeprefix(f"{name}.").split(".")
        value = saved[path]
        if not index.isdigit() or int(index) >= len(parameters):
            raise BadInput(f"saved {path} belongs to no parameter here: load into a learner built alike")
        if isinstance(value, Tensor) and value.ndim:
            value = tensor_of(saved, path, parameters[int(index)].detach())
        moments.setdefault(int(index), {})[kind] = value.clone() if isinstance(value, Tensor) else value
    return moments


def _arrays(buffer: BaseBuffer) -> dict[str, npt.NDArray[Any]]:
    return {name: value for name, value in vars(buffer).items() if isinstance(value, np.ndarray)}


def _buffer_state(buffer: BaseBuffer) -> SavedState:
    size = buffer.size()
    arrays: SavedState = {name: torch.tensor(array[:size]) for name, array in _arrays(buffer).items()}
    return arrays | {"size": size, "position": buffer.pos}


def _buffer_filler(buffer: BaseBuffer, saved: SavedState) -> Callable[[], None]:
    size = integer_of(saved, "size", at_most=buffer.buffer_size)
    position = integer_of(saved, "position", at_most=buffer.buffer_size)
    arrays = {name: tensor_of(saved, name, torch.as_tensor(array[:size])) for name, array in _arrays(buffer).items()}

    def fill() -> None:
        buffer.reset()
        for name, array in _arrays(buffer).items():
            array[:size] = arrays[name].numpy()
        buffer.pos, buffer.full = position, size == buffer.buffer_size

    return fill


def _space_state(model: BaseAlgorithm) -> SavedState:
    drawn: Any = model.action_space.np_random.bit_generator.state
    words: SavedState = {name: str(drawn["state"][name]) for name in _SPACE_WORDS}
    return words | {name: int(drawn[name]) for name in ("has_uint32", "uinteger")}


def _space_setter(model: BaseAlgorithm, saved: SavedState) -> Callable[[], None]:
    words = {name: str(saved.get(name)) for name in _SPACE_WORDS}
    if not all(word.isdecimal() and int(word) < 2**128 for word in words.values()):
        raise BadInput(f"the saved generator of the action space is {words}, allowed are whole numbers of 128 bits")
    drawn = {
        "bit_generator": "PCG64",
        "state": {name: int(word) for name, word in words.items()},
        "has_uint32": integer_of(saved, "has_uint32", at_most=1),
        "uinteger": integer_of(saved, "uinteger", at_most=2**32 - 1),
    }

    def restore_space() -> None:
        model.action_space.np_random.bit_generator.state = drawn

    return restore_space
