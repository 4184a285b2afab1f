"""What holds for all tests of measurements."""

import pytest
import torch


@pytest.fixture(autouse=True)
def _one_thread():
    """Two on shared cores take longer than one for networks of this size."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
