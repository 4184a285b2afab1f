import pytest

from gaelp.config import load_model
from gaelp.config.write import model_text
from gaelp.errors import ConfigError
from gaelp.importing.column_mapping import ImportMapping

GOOD = """
table: auctions
time_zone: Europe/Berlin
columns:
  at: {column: Zeit, time_format: "%d.%m.%Y %H:%M"}
  bid_micros: {column: Bid, unit: currency}
  won: {constant: true}
  segment: Placement
"""


def loaded(tmp_path, text):
    path = tmp_path / "mapping.yaml"
    path.write_text(text)
    return load_model(ImportMapping, str(path))


def test_a_mapping_names_columns_units_formats_and_constants(tmp_path):
    mapping = loaded(tmp_path, GOOD)
    assert mapping.needed == ("Zeit",)
    assert mapping.optional == ("Bid", "Placement")
    assert mapping.columns["bid_micros"].micros == 1_000_000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("segment: Placement", "colour: Placement"), "no such column of auctions"),
        (("segment: Placement", "phase: Placement"), "no such column of auctions"),
        (("{constant: true}", "{}"), "give either column"),
        (("{constant: true}", "{constant: true, column: Won}"), "give either column"),
        (("segment: Placement", "segment: {column: a, unit: cpm}"), "belongs to money"),
        (("segment: Placement", "segment: {column: a, time_zone: UTC}"), "belong to times"),
        (("segment: Placement", "converted_at: when"), "converted_at without converted"),
        (("table: auctions", "table: sales"), "table"),
    ],
)
def test_a_wrong_mapping_is_refused_when_it_is_loaded(tmp_path, change, message):
    with pytest.raises(ConfigError, match=message):
        loaded(tmp_path, GOOD.replace(*change))


def test_a_mapping_is_written_without_what_is_as_usual_and_reads_back(tmp_path):
    mapping = loaded(tmp_path, GOOD)
    text = model_text(tmp_path / "out.yaml", mapping)
    assert "null" not in text
    assert "unit: micros" not in text
    assert loaded(tmp_path, text) == mapping
