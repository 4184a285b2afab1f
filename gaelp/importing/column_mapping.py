"""Mapping files: which column of a file is which column of a stored table, in which unit, format and time zone."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

import pyarrow as pa
from pydantic import (
    BeforeValidator,
    Field,
    PositiveInt,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from gaelp.config.base import Frozen
from gaelp.config.names import Text
from gaelp.importing.figures import DecimalMark
from gaelp.storage.schema import TABLES, TableName

__all__ = ["MICROS_PER_UNIT", "ColumnSource", "ImportMapping", "Unit"]

Unit = Literal["micros", "currency", "cents", "cpm", "cents_cpm"]
# The CPMs are prices of a thousand impressions, stored for one.
MICROS_PER_UNIT: Mapping[Unit, int] = {
    "micros": 1,
    "currency": 1_000_000,
    "cents": 10_000,
    "cpm": 1_000,
    "cents_cpm": 10,
}
_SET_BY_IMPORT = ("phase", "source")


def _expand(value: Any) -> Any:
    return {"column": value} if isinstance(value, str) else value


class _WrittenShort(Frozen):
    """A model whose file leaves out what is as usual."""

    @model_serializer(mode="wrap")
    def _without_defaults(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = type(self).model_fields
        return {name: value for name, value in write(self).items() if getattr(self, name) != fields[name].default}


class ColumnSource(_WrittenShort):
    """Where a stored column comes from: a column of the file, or a constant."""

    column: Text | None = None  # in the file; upper and lower case make no difference
    constant: str | int | float | bool | None = None
    unit: Unit | PositiveInt = Field(default="micros", description="of money; a number is micros for one")
    time_format: Text | None = Field(default=None, description="of strptime, such as %d.%m.%Y %H:%M; none: ISO, epoch")
    time_zone: Text | None = Field(default=None, description="of times without one, such as Europe/Berlin")
    hour_column: Text | None = Field(default=None, description="the hour of the day, where another column has it")
    required: bool = Field(default=False, description="a row without it is rejected")

    @model_validator(mode="after")
    def _has_one_origin(self) -> Self:
        if (self.column is None) == (self.constant is None):
            raise ValueError("give either column, the name in the file, or constant, the value of every row")
        return self

    @property
    def micros(self) -> int:
        """How many micros one unit is."""
        return self.unit if isinstance(self.unit, int) else MICROS_PER_UNIT[self.unit]


class ImportMapping(_WrittenShort):
    """How the rows of a file become rows of a table."""

    table: TableName
    columns: dict[str, Annotated[ColumnSource, BeforeValidator(_expand)]] = Field(min_length=1)
    delimiter: Literal[",", ";", "\t", "|", " "] | None = Field(default=None, description="none: found by the header")
    decimal: DecimalMark | None = Field(default=None, description="none: plain numbers; else as reports print them")
    time_zone: Text = "UTC"  # of times without a zone
    names: tuple[str, ...] = Field(default=(), description="of the columns, where the file has no header")
    quoted: bool = True
    has_totals: bool = Field(default=False, description="whether lines of totals are among the rows, as in reports")

    @model_validator(mode="after")
    def _fits_its_table(self) -> Self:
        schema = TABLES[self.table].columns
        for name, source in self.columns.items():
            if name in _SET_BY_IMPORT or name not in schema.names:
                allowed = ", ".join(each for each in schema.names if each not in _SET_BY_IMPORT)
                raise ValueError(f"columns.{name}: no such column of {self.table}; allowed: {allowed}")
            if source.unit != "micros" and not name.endswith("_micros"):
                raise ValueError(f"columns.{name}: unit={source.unit} belongs to money (…_micros); leave it out")
            is_time = pa.types.is_temporal(schema.field(name).type)
            if not is_time and (source.time_format or source.time_zone or source.hour_column):
                raise ValueError(
                    f"columns.{name}: time_format, time_zone and hour_column belong to times; leave them out"
                )
        if "converted_at" in self.columns and "converted" not in self.columns:
            raise ValueError("columns.converted_at without converted: map converted (0 or 1) too")
        return self

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns that the file must have."""
        required = TABLES[self.table].required
        return self._in_file(lambda name, source: source.required or name in required)

    @property
    def optional(self) -> tuple[str, ...]:
        """The columns that the file may lack."""
        needed = self.needed
        return tuple(name for name in self._in_file(lambda *_: True) if name not in needed)

    def _in_file(self, is_wanted: Any) -> tuple[str, ...]:
        names: dict[str, None] = {}
        for name, source in self.columns.items():
            if source.column is not None and is_wanted(name, source):
                names |= dict.fromkeys([source.column, *([source.hour_column] if source.hour_column else [])])
        return tuple(names)
