"""Rows of the realism table as text and as data."""

from gaelp.market.realism import PublicFigure, PublicRange, RealismRow
from gaelp.market.realism_text import realism_cells, realism_json, source_lines

DISPLAY = PublicRange(low=0.0003, high=0.0044, source="a log")
ROW = RealismRow("click_rate", PublicFigure(label="click rate", display=DISPLAY), 0.00072)
NO_RANGE = RealismRow("thrifty_share", PublicFigure(label="thrifty"), 0.25)


def test_cells_name_the_figure_its_ranges_and_the_channels_it_fits():
    assert realism_cells(ROW) == ("click rate", "0.00072", "0.0003 to 0.0044", "", "display")
    far = RealismRow("click_rate", ROW.figure, 1234.5)
    assert realism_cells(far) == ("click rate", "1,234", "0.0003 to 0.0044", "", "none")
    assert realism_cells(NO_RANGE) == ("thrifty", "0.25", "", "", "")


def test_every_range_has_a_line_with_its_source():
    assert list(source_lines(ROW)) == ["click_rate, display: a log"]
    assert list(source_lines(NO_RANGE)) == []


def test_data_hold_ranges_sources_and_verdicts():
    assert realism_json(ROW) == {
        "statistic": "click_rate",
        "label": "click rate",
        "value": 0.00072,
        "public": {"display": {"low": 0.0003, "high": 0.0044, "source": "a log", "fits": True}},
    }
