"""The array types of the project, named once; shapes are in docstrings and comments."""

import numpy as np
import numpy.typing as npt

__all__ = ["Bools", "Floats", "Floats32", "Ints", "Ints8", "Ints32", "Uints"]

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Ints8 = npt.NDArray[np.int8]
Ints32 = npt.NDArray[np.int32]
Uints = npt.NDArray[np.uint64]
