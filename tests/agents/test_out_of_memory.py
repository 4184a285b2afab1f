"""Errors that mean too little memory, and those that only sound like it."""

import pytest

from gaelp.agents.out_of_memory import is_out_of_memory


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (MemoryError(), True),
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), True),
        (RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory"), True),
        (RuntimeError("size mismatch"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_too_little_memory_is_told_from_other_errors(problem, expected):
    assert is_out_of_memory(problem) is expected
