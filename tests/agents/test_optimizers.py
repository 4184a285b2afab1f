"""Our optimizers beside those of torch."""

import subprocess
import sys

import pytest
import torch
from torch import nn

from gaelp.agents.optimizers import adam_over, rmsprop_over

# Builds a learner and has it learn, then says whether torch's compiler was imported.
LEARN = """
import sys
import torch
from torch import nn
from gaelp.agents.gradient_step import OptimizerSpec, Stepper
from gaelp.agents.guarded_adam import GuardedAdam
from gaelp.experience.transitions import Batch

module = nn.Linear(2, 1)
GuardedAdam(module.parameters(), max_norm=1.0).step(module(torch.ones(3, 2)).mean(), 0.1)
for kind in ("adam", "rmsprop"):
    stepper = Stepper(module, OptimizerSpec(kind=kind), max_gradient_norm=1.0)
    stepper.differentiate(Batch({"obs": torch.ones(3, 2)}), lambda rows: [module(rows.tensors["obs"]).mean()])
    stepper.step(0.0, 0.1)
print("torch._dynamo" in sys.modules)
"""


def twins():
    return [[nn.Parameter(torch.linspace(-1, 1, 6).reshape(2, 3)), nn.Parameter(torch.tensor([0.5]))] for _ in range(2)]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (adam_over, lambda given: torch.optim.Adam(given, fused=True)),
        (lambda given: adam_over(given, epsilon=1e-5), lambda given: torch.optim.Adam(given, eps=1e-5, fused=True)),
        (
            lambda given: rmsprop_over(given, epsilon=1e-5, decay=0.9),
            lambda given: torch.optim.RMSprop(given, alpha=0.9, eps=1e-5, foreach=False),
        ),
    ],
    ids=["adam", "adam-epsilon", "rmsprop"],
)
def test_steps_and_moments_are_those_of_torch_bit_for_bit(ours, theirs):
    mine, other = twins()
    optimizer, reference = ours(mine), theirs(other)
    rng = torch.Generator().manual_seed(1)
    for rate in (0.1, 0.01, 0.3):
        for one, same in zip(mine, other, strict=True):
            one.grad = torch.randn(one.shape, generator=rng)
            same.grad = one.grad.clone()
        optimizer.step(rate)
        reference.param_groups[0]["lr"] = rate
        reference.step()
        for one, same in zip(mine, other, strict=True):
            assert torch.equal(one, same)
            assert optimizer.state[one].keys() == reference.state[same].keys()
            assert [*optimizer.state[one]] == [*reference.state[same]]
            for name, moment in optimizer.state[one].items():
                assert torch.equal(moment, reference.state[same][name])
                assert moment.dtype == reference.state[same][name].dtype


def test_learning_does_not_import_the_compiler_of_torch_which_takes_seconds():
    assert subprocess.check_output([sys.executable, "-c", LEARN], text=True) == "False\n"
