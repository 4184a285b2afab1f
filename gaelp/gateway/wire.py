"""The form of requests: campaigns and their arrays column by column, as JSON or as an Arrow stream.

`Column` lists what each array may hold. Arrays of segments have one list a campaign; those of creatives too, with the
creatives of each segment one after another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from gaelp.errors import BadInput
from gaelp.market.view import Brief, Observation

__all__ = [
    "ARROW",
    "BRIEF_COLUMNS",
    "JSON",
    "OBSERVATION_COLUMNS",
    "Column",
    "Sizes",
    "WireRows",
    "from_arrow",
    "from_json",
    "observation_of",
    "request_model",
    "rows_of",
    "to_arrow",
    "to_json",
]

JSON, ARROW = "application/json", "application/vnd.apache.arrow.stream"
_COUNT, _MICROS = 2**31 - 1, 10**15
_LOG = 60.0
_WIDEST = 4096  # numbers of a campaign in one column
_NAME = r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$"


@dataclass(frozen=True, slots=True)
class Column:
    """One array of a request."""

    name: str
    per: Literal["campaign", "segment", "creative"]
    dtype: type[np.generic]
    low: float
    high: float
    optional: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether it holds whole numbers."""
        return issubclass(self.dtype, np.integer)


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many segments a campaign has, creatives a segment, and personas there are."""

    segments: int
    creatives: int
    personas: int

    def width(self, column: Column) -> int:
        """How many numbers a campaign has in a column."""
        return {"campaign": 1, "segment": self.segments, "creative": self.segments * self.creatives}[column.per]


@dataclass(frozen=True, slots=True)
class WireRows:
    """Campaigns by name, and arrays with one row for each."""

    campaigns: Sequence[str]
    arrays: Mapping[str, npt.NDArray[Any]]


def _columns(
    per: Literal["campaign", "segment", "creative"], dtype: type[np.generic], low: float, high: float, *names: str
) -> tuple[Column, ...]:
    return tuple(Column(name, per, dtype, low, high) for name in names)


BRIEF_COLUMNS: tuple[Column, ...] = (
    *_columns("campaign", np.int64, 1, 24 * 366, "hours"),
    *_columns("campaign", np.int64, 1, _MICROS, "budget_micros", "daily_cap_micros", "conversion_value_micros"),
    *_columns("campaign", np.int32, 0, 167, "start_hour_of_week"),
    *_columns("campaign", np.float32, 1e-6, 1e6, "budget_share"),
    *_columns("segment", np.int32, 0, 10_000, "persona"),
    *_columns("segment", np.float32, 0, 10_000, "delay_mean_hours"),
    *_columns("segment", np.float32, 1e-6, 1e12, "volume_forecast"),
    *_columns("segment", np.float32, -_LOG, _LOG, "price_forecast_log"),
)
OBSERVATION_COLUMNS: tuple[Column, ...] = (
    *_columns("campaign", np.int64, 0, 24 * 366, "hour"),
    *_columns("campaign", np.int64, 0, _MICROS, "left_micros", "day_left_micros"),
    *_columns("segment", np.int32, 0, _COUNT, "opportunities", "impressions", "clicks", "conversions"),
    *_columns("segment", np.int64, 0, _MICROS, "cost_micros"),
    *_columns("campaign", np.float32, 0, 1, "in_market"),
    *_columns("segment", np.int32, 0, _COUNT, "total_impressions", "total_clicks", "total_conversions"),
    *_columns("segment", np.int64, 0, _MICROS, "total_cost_micros"),
    *_columns("segment", np.float32, 0, 1e9, "maturing_clicks", "exposure"),
    *_columns("segment", np.float32, -_LOG, _LOG, "price_level_log", "price_signal_log", "bid_log"),
    *_columns("campaign", np.float32, 0, 1, "pace"),
    *_columns("segment", np.int8, -1, 127, "creative"),
    *_columns("creative", np.int32, 0, _COUNT, "creative_impressions", "creative_clicks"),
    Column("known_value_log", "segment", np.float32, -_LOG, _LOG, optional=True),
)


def request_model(name: str, columns: Sequence[Column], most: int) -> type[BaseModel]:
    """The form of a request as JSON, which also describes it."""
    fields: dict[str, Any] = {
        "campaigns": (list[Annotated[str, Field(pattern=_NAME)]], Field(min_length=1, max_length=most))
    }
    for column in columns:
        kind, limits = _column_type(column), Field(min_length=1, max_length=most)
        fields[column.name] = (
            (Annotated[kind | None, limits], None) if column.optional else (Annotated[kind, limits], ...)
        )
    config = ConfigDict(extra="forbid", allow_inf_nan=False, strict=False, hide_input_in_errors=True)
    made: type[BaseModel] = create_model(name, __config__=config, **fields)
    return made


def _column_type(column: Column) -> Any:
    """A list of numbers, or a list of lists."""
    low, high = (int(column.low), int(column.high)) if column.is_whole else (column.low, column.high)
    number: Any = Annotated[int if column.is_whole else float, Field(ge=low, le=high)]
    row: Any = number if column.per == "campaign" else Annotated[list[number], Field(max_length=_WIDEST)]
    return list[row]


def from_json(body: bytes, model: type[BaseModel], columns: Sequence[Column], sizes: Sizes) -> WireRows:
    """Read a request; BadInput names the first thing that is wrong."""
    try:
        given = model.model_validate_json(body)
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"])) or "the body"
        raise BadInput(f"{where}: {first['msg']}") from None
    names: list[str] = getattr(given, "campaigns")  # noqa: B009 - the model is made at run time
    values = {column.name: getattr(given, column.name) for column in columns}
    return _checked(names, values, columns, sizes)


def from_arrow(body: bytes, columns: Sequence[Column], sizes: Sizes, most: int) -> WireRows:
    """Read a request from an Arrow stream: a column `campaign`, and one for each array."""
    try:
        table = pa.ipc.open_stream(pa.BufferReader(body)).read_all()
        names = [str(name) for name in table.column("campaign").to_pylist()]
        values = {column.name: _column(table, column) for column in columns}
    except (pa.ArrowException, KeyError, ValueError, TypeError) as problem:
        raise BadInput(
            f"the Arrow stream cannot be read ({type(problem).__name__}): docs/gateway.md lists its columns"
        ) from None
    if len(names) > most:
        raise BadInput(f"{len(names):,} campaigns in one request; allowed: {most:,}. Split it")
    return _checked(names, values, columns, sizes)


def _column(table: pa.Table, column: Column) -> npt.NDArray[Any] | None:
    if column.optional and column.name not in table.column_names:
        return None
    array = table.column(column.name).combine_chunks()
    if array.null_count:
        raise ValueError("a value is missing")
    if column.per == "campaign":
        return np.asarray(array.to_numpy(zero_copy_only=False))
    flat = array.flatten()
    if flat.null_count or not pa.types.is_fixed_size_list(array.type):
        raise ValueError("not lists of one size")
    return np.asarray(flat.to_numpy(zero_copy_only=False)).reshape(len(array), array.type.list_size)


def _checked(names: list[str], values: Mapping[str, Any], columns: Sequence[Column], sizes: Sizes) -> WireRows:
    if not names or len(set(names)) < len(names):
        raise BadInput(f"{len(names)} campaigns with {len(set(names))} names: name one or more, each once")
    given = [(column, values[column.name]) for column in columns if values[column.name] is not None]
    arrays = {column.name: _array(column, value, len(names), sizes) for column, value in given}
    if "persona" in arrays and arrays["persona"].max() >= sizes.personas:
        raise BadInput(
            f"persona {int(arrays['persona'].max())}; allowed: 0 to {sizes.personas - 1}, those of the market"
        )
    return WireRows(names, arrays)


def _array(column: Column, values: Any, campaigns: int, sizes: Sizes) -> npt.NDArray[Any]:
    """The numbers as an array; those of a list were compared with the column's range when they were read."""
    if isinstance(values, np.ndarray):
        _check_numbers(column, values)
    try:
        array = np.asarray(values, column.dtype)
    except ValueError:  # lists of several lengths
        array = np.empty(0)
    width = sizes.width(column)
    shape = (campaigns,) if column.per == "campaign" else (campaigns, width)
    if array.shape != shape:
        raise BadInput(f"{column.name} has shape {array.shape}; allowed: {shape}, numbers for each campaign")
    return array.reshape(campaigns, sizes.segments, sizes.creatives) if column.per == "creative" else array


def _check_numbers(column: Column, array: npt.NDArray[Any]) -> None:
    if array.dtype.kind not in "iuf" or (column.is_whole and array.dtype.kind == "f"):
        raise BadInput(f"{column.name} is {array.dtype}; allowed: {'whole numbers' if column.is_whole else 'numbers'}")
    if not ((array >= column.low) & (array <= column.high)).all():  # NaN is outside, too
        raise BadInput(f"{column.name} has a value outside {column.low:g} to {column.high:g}: correct it")


def rows_of(batch: Brief | Observation, names: Sequence[str]) -> WireRows:
    """What to send of a brief or an observation."""
    columns = BRIEF_COLUMNS if isinstance(batch, Brief) else OBSERVATION_COLUMNS
    arrays = {column.name: getattr(batch, column.name) for column in columns}
    return WireRows(names, {name: np.asarray(array) for name, array in arrays.items() if array is not None})


def observation_of(rows: WireRows, places: npt.NDArray[np.int64] | None = None) -> Observation:
    """What these rows, or some of them, show of their campaigns."""
    arrays: dict[str, Any] = {"known_value_log": None, **rows.arrays}
    if places is not None:
        arrays = {name: None if array is None else array[places] for name, array in arrays.items()}
    return Observation(**arrays)


def to_json(rows: WireRows) -> dict[str, Any]:
    """The request as JSON values."""
    flat = {name: _flat(array).tolist() for name, array in rows.arrays.items()}
    return {"campaigns": list(rows.campaigns), **flat}


def to_arrow(rows: WireRows) -> bytes:
    """The request as an Arrow stream."""
    columns: dict[str, Any] = {"campaign": pa.array(rows.campaigns, pa.string())}
    for name, array in rows.arrays.items():
        flat = _flat(array)
        columns[name] = (
            pa.array(flat)
            if flat.ndim == 1
            else pa.FixedSizeListArray.from_arrays(pa.array(flat.ravel()), flat.shape[1])
        )
    table = pa.table(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _flat(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return array if array.ndim == 1 else array.reshape(len(array), -1)
