import pytest
import torch

from gaelp.agents.value_figures import explained_variance, value_figures


def test_explained_variance_is_one_for_a_perfect_critic_and_zero_for_a_constant_one():
    targets = torch.tensor([1.0, 2.0, 4.0])
    assert explained_variance(targets, targets) == 1
    assert explained_variance(torch.zeros(3), targets) == pytest.approx(0)
    assert explained_variance(targets, torch.ones(3)) == 0  # nothing to explain


def test_figures_are_of_all_critics_and_errors_of_their_mean():
    figures = value_figures(torch.tensor([[1.0, -3.0], [3.0, -1.0]]), torch.tensor([2.0, -1.0]))
    assert figures["q_abs_mean"] == 2
    assert figures["q_abs_max"] == 3
    assert figures["td_error_abs_mean"] == 0.5
