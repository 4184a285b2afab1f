"""Figures of how large a critic's values are and how well they fit their targets."""

from torch import Tensor

__all__ = ["explained_variance", "value_figures"]


def explained_variance(values: Tensor, targets: Tensor) -> float:
    """The share of the targets' variance that the values explain: 1 is perfect; 0 if there is none to explain."""
    spread = targets.var(correction=0).item()
    return 1 - (targets - values).var(correction=0).item() / spread if spread > 0 else 0.0


def value_figures(values: Tensor, targets: Tensor) -> dict[str, float]:
    """Of the values (K, B) of K critics and the targets (B,) that they share; errors are those of the critics' mean."""
    mean = values.mean(0)
    return {
        "q_abs_mean": values.abs().mean().item(),
        "q_abs_max": values.abs().max().item(),
        "td_error_abs_mean": (targets - mean).abs().mean().item(),
        "explained_variance": explained_variance(mean, targets),
    }
