"""The squashed Gaussian: a normal distribution drawn through tanh into -1..1, with its exact log probability."""

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import softplus

__all__ = ["LOG_STD_HIGH", "LOG_STD_LOW", "Draw", "draw_squashed", "log_tanh_slope", "mean_and_log_std"]

# The range of Haarnoja et al.'s own code: wide enough never to bind in a healthy run, narrow enough to stay finite.
LOG_STD_LOW, LOG_STD_HIGH = -20.0, 2.0
_LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)


class Draw(NamedTuple):
    """Actions (B, A) in -1..1, the logarithm of their probability density (B,), and the spread (B, A) before tanh."""

    actions: Tensor
    log_probs: Tensor
    std: Tensor


def mean_and_log_std(outputs: Tensor, low: float = LOG_STD_LOW) -> tuple[Tensor, Tensor]:
    """Mean and log_std of the Gaussian before tanh: outputs (B, 2A) split into two (B, A); `low` bounds the second."""
    mean, log_std = outputs.chunk(2, dim=-1)
    return mean, log_std.clamp(low, LOG_STD_HIGH)


def draw_squashed(mean: Tensor, log_std: Tensor, noise: Tensor) -> Draw:
    """tanh(mean + std * noise) for standard normal `noise`, all (B, A); gradients flow into mean and log_std.

    The density before squashing is taken from the noise itself: it loses no digits to a subtraction.
    """
    std = log_std.exp()
    before = mean + std * noise
    gaussian = -0.5 * noise.square() - log_std - _LOG_ROOT_TWO_PI
    return Draw(torch.tanh(before), (gaussian - log_tanh_slope(before)).sum(-1), std)


def log_tanh_slope(before: Tensor) -> Tensor:
    """log(1 - tanh(x)^2), by an identity that needs no epsilon and stays exact where tanh(x) rounds to 1."""
    return 2 * (math.log(2) - before - softplus(-2 * before))
