import typing

import numpy as np

from gaelp import arrays


def test_each_name_is_an_array_of_its_kind():
    kinds = {name: typing.get_args(typing.get_args(getattr(arrays, name))[1])[0] for name in arrays.__all__}
    assert kinds == {
        "Bools": np.bool_,
        "Floats": np.float64,
        "Floats32": np.float32,
        "Ints": np.int64,
        "Ints8": np.int8,
        "Ints32": np.int32,
        "Uints": np.uint64,
    }
