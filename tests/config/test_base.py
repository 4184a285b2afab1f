import math

import pytest
from pydantic import ValidationError

from gaelp.config.base import Frozen


class Limit(Frozen):
    most: float


@pytest.mark.parametrize("values", [{"most": math.nan}, {"most": math.inf}, {"most": 1, "more": 2}, {}])
def test_unknown_keys_and_numbers_without_end_are_refused(values):
    with pytest.raises(ValidationError):
        Limit(**values)


def test_a_value_does_not_change():
    with pytest.raises(ValidationError, match="frozen"):
        Limit(most=1).most = 2
