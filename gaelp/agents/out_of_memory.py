"""Tell whether an error means too little memory: training then continues with less at a time."""

__all__ = ["OUT_OF_MEMORY", "is_out_of_memory"]

OUT_OF_MEMORY = "out of memory"

# Torch raises a plain RuntimeError when the CPU has too little memory.
_MEMORY_WORDS = (OUT_OF_MEMORY, "not enough memory", "can't allocate memory", "DefaultCPUAllocator")


def is_out_of_memory(problem: Exception) -> bool:
    """Whether an error means too little memory, of the CPU or of another device."""
    if isinstance(problem, MemoryError):
        return True
    return isinstance(problem, RuntimeError) and any(words in str(problem) for words in _MEMORY_WORDS)
