"""A manifest has one way to be written, and none that leads out of its folder."""

import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gaelp.approvals.canonical import canonical
from gaelp.registry.manifest import DataWindow, as_label, check_bundle_path, figure_text

DAY = datetime(2026, 11, 16, tzinfo=UTC)


@given(st.floats())
def test_a_figure_reads_back_as_the_same_figure(value):
    again = float(figure_text(value))
    assert again == value or (math.isnan(again) and math.isnan(value))


@given(st.text())
def test_any_text_becomes_a_line_that_can_be_signed(text):
    label = as_label(text)
    assert label.isprintable()
    assert label == label.strip()
    assert 1 <= len(label) <= 200
    canonical({"text": label})


@pytest.mark.parametrize(
    "path", ["", "/etc/passwd", "../x", "a/../b", "a//b", ".hidden", "a/.b", "a\\b", "a\nb", "a b"]
)
def test_a_file_name_that_leads_elsewhere_is_refused(path):
    with pytest.raises(ValueError, match="the file"):
        check_bundle_path(path)


@pytest.mark.parametrize("path", ["policy.bin", "parameters/rules.yaml", "a/b/c-1_2.x"])
def test_a_plain_path_is_accepted(path):
    assert check_bundle_path(path) == path


def test_a_window_has_both_ends_in_order_or_none():
    assert DataWindow(name="sealed", source="history", begin=DAY, end=DAY.replace(day=20)).begin == DAY
    with pytest.raises(ValidationError, match="only one of begin and end"):
        DataWindow(name="sealed", source="history", begin=DAY)
    with pytest.raises(ValidationError, match="not after its begin"):
        DataWindow(name="sealed", source="history", begin=DAY, end=DAY)
