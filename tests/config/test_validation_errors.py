from typing import Self

import pytest
from pydantic import model_validator

from gaelp.config import load_model
from gaelp.config.base import Frozen
from gaelp.config.validation_errors import refuse_at
from gaelp.errors import ConfigError


class Span(Frozen):
    low: int
    high: int

    @model_validator(mode="after")
    def _rises(self) -> Self:
        if self.low > self.high:
            refuse_at([(("low",), "saw more than high"), (("high",), "saw less than low")])
        return self


class Spans(Frozen):
    spans: tuple[Span, ...]


def test_a_problem_between_keys_is_reported_at_each_of_them(here):
    (here / "spans.yaml").write_text("spans:\n- low: 1\n  high: 2\n- low: 4\n  high: 3\n", encoding="utf-8")
    with pytest.raises(ConfigError) as refused:
        load_model(Spans, here / "spans.yaml")
    assert str(refused.value).splitlines()[1:] == [
        "  spans.yaml:4: spans[1].low: saw more than high",
        "  spans.yaml:5: spans[1].high: saw less than low",
    ]
