"""The network of an agent as ONNX and as TorchScript: written with torch, run without the code that trained it."""

import io
import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import onnxruntime
import torch
from torch import Tensor

from gaelp.agents.acting_network import ActingNetwork
from gaelp.errors import DataError
from gaelp.training.segment_policy import BLOCK_ROWS

__all__ = ["ActOn", "onnx_bytes", "run_onnx", "run_torchscript", "torchscript_bytes"]

ActOn = Callable[[Tensor], Tensor]

_ROWS, _ACTIONS = "rows", "actions"


def onnx_bytes(network: ActingNetwork, observation_size: int) -> bytes:
    """The network as an ONNX model: float32 rows (any number, size) become actions."""
    rows = torch.zeros(BLOCK_ROWS, observation_size)
    with _quiet_export(), torch.no_grad():
        program = torch.onnx.export(
            network,
            (rows,),
            dynamo=True,
            input_names=[_ROWS],
            output_names=[_ACTIONS],
            dynamic_shapes=({0: torch.export.Dim("n")},),
            verbose=False,
        )
    if program is None:
        raise DataError("torch.onnx.export returned nothing: allowed is a program. Reinstall torch and onnxscript")
    content: bytes = program.model_proto.SerializeToString()
    return content


def torchscript_bytes(network: ActingNetwork, observation_size: int) -> bytes:
    """The network as TorchScript, traced: it has no branch that depends on its input."""
    file = io.BytesIO()
    trace: Callable[..., torch.jit.ScriptModule] = torch.jit.trace  # untyped in torch
    with _quiet_export(), torch.no_grad():
        torch.jit.save(trace(network, torch.zeros(BLOCK_ROWS, observation_size)), file)
    return file.getvalue()


def run_onnx(model: bytes) -> ActOn:
    """Return what computes actions with ONNX Runtime, in the calling thread alone."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as problem:  # its errors share no class but this one
        raise DataError(
            f"ONNX Runtime cannot load the network ({type(problem).__name__}): export it again"
        ) from problem

    def act(rows: Tensor) -> Tensor:
        return torch.from_numpy(session.run([_ACTIONS], {_ROWS: rows.numpy()})[0])

    return act


def run_torchscript(model: bytes) -> ActOn:
    """Return what computes actions with TorchScript."""
    with _quiet_export():
        load: Callable[..., ActOn] = torch.jit.load  # untyped in torch
        network = load(io.BytesIO(model))

    @torch.no_grad()
    def act(rows: Tensor) -> Tensor:
        actions: Tensor = network(rows)
        return actions

    return act


@contextmanager
def _quiet_export() -> Iterator[None]:
    """Torch's exporters warn about their own internals, and about each other; what they wrote is checked on bids."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.simplefilter("ignore", FutureWarning)
            yield
    finally:
        logger.setLevel(before)
