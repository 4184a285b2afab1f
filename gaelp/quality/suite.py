"""Suites of expectations: each file in configs/expectations/ says what holds for the rows of one table."""

from typing import Any, Self

from pydantic import Field, PositiveInt, model_validator

from gaelp.config import names_in
from gaelp.config.base import Frozen
from gaelp.config.load import load_model
from gaelp.config.names import Slug
from gaelp.errors import ConfigError
from gaelp.quality.derived_columns import DERIVED
from gaelp.storage.schema import TABLES, TableName

__all__ = ["Expectation", "Suite", "load_suite", "suite_names"]


class Expectation(Frozen):
    """One expectation of great_expectations, by its name there, with its arguments and the reason for it."""

    type: str = Field(pattern=r"^expect_[a-z_]+$")
    kwargs: dict[str, Any]
    why: str = Field(min_length=1, max_length=300)
    reference_factor: float | None = Field(
        default=None,
        gt=1,
        description="for quantiles: each may differ by this factor from that of the reference window; none: as given",
    )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it names."""
        kwargs = self.kwargs
        single = [kwargs[key] for key in ("column", "column_A", "column_B") if key in kwargs]
        return (*single, *kwargs.get("column_list", ()))


class Suite(Frozen):
    """What holds for every stored window of a table."""

    name: Slug
    table: TableName
    minimum_rows: PositiveInt = Field(default=1, description="a window with fewer fails: no data prove nothing")
    expectations: tuple[Expectation, ...] = Field(min_length=1, max_length=100)

    @model_validator(mode="after")
    def _names_columns_of_its_table(self) -> Self:
        known = {*TABLES[self.table].columns.names, *DERIVED.get(self.table, ())}
        for expectation in self.expectations:
            for column in expectation.columns:
                if column not in known:
                    raise ValueError(f"{expectation.type}: no column {column!r} of {self.table}; correct the name")
        return self


def load_suite(table: TableName) -> Suite:
    """The suite of a table."""
    suite = load_model(Suite, table.value.replace("_", "-"), "expectations")
    if suite.table is not table:
        raise ConfigError(f"the suite {suite.name} is for {suite.table}, not for {table}: correct its table")
    return suite


def suite_names() -> tuple[TableName, ...]:
    """The tables that have a suite."""
    names = set(names_in("expectations"))
    return tuple(table for table in TableName if table.value.replace("_", "-") in names)
