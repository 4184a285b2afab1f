import pytest

from gaelp.config import load_model
from gaelp.errors import ConfigError
from gaelp.quality.suite import Suite, load_suite, suite_names
from gaelp.storage.schema import TableName


@pytest.mark.parametrize("table", TableName)
def test_every_table_has_a_suite_with_reasons(table):
    suite = load_suite(table)
    assert (suite.table, table in suite_names()) == (table, True)
    assert all(expectation.why.endswith(".") for expectation in suite.expectations)


def test_a_suite_that_names_no_column_of_its_table_is_refused(tmp_path):
    path = tmp_path / "suite.yaml"
    path.write_text(
        "name: x\ntable: clicks\nexpectations:\n"
        "  - {type: expect_column_values_to_be_unique, kwargs: {column: colour}, why: None.}\n"
    )
    with pytest.raises(ConfigError, match="no column 'colour' of clicks"):
        load_model(Suite, str(path))
