"""A row filter as SQL conditions with named parameters, for DuckDB and BigQuery alike."""

from collections.abc import Mapping
from datetime import datetime

from gaelp.storage.store import RowFilter

__all__ = ["FilterValue", "filter_conditions"]

FilterValue = datetime | tuple[str, ...]

_LISTS = {"phases": "phase", "sources": "source", "policies": "policy", "campaigns": "campaign"}


def filter_conditions(rows: RowFilter, *, time: str, among: str) -> tuple[list[str], Mapping[str, FilterValue]]:
    """Return conditions and the values of their parameters.

    `time` and `among` are templates such as `"{column}" {sign} ${name}`, filled with column, sign and parameter name.
    """
    conditions, values = [], dict[str, FilterValue]()
    for name, sign in (("since", ">="), ("until", "<")):
        moment = getattr(rows, name)
        if moment is not None:
            conditions.append(time.format(column="at", sign=sign, name=name))
            values[name] = moment
    for name, column in _LISTS.items():
        wanted = tuple(str(value) for value in getattr(rows, name))
        if wanted:
            conditions.append(among.format(column=column, name=name))
            values[name] = wanted
    return conditions, values
