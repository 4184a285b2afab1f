"""The latest check of each table of a home, and the page that shows it."""

from pathlib import Path

from pydantic import Field

from gaelp.config.base import Frozen
from gaelp.config.private_files import make_private_folder
from gaelp.config.write import write_texts
from gaelp.errors import DataError
from gaelp.quality.window_check import QualityResult
from gaelp.storage.schema import TableName

__all__ = ["LastChecks", "keep_check", "last_checks", "page_path"]


class LastChecks(Frozen):
    """The latest result of each table."""

    results: dict[TableName, QualityResult] = Field(default_factory=dict)


def last_checks(home: Path) -> LastChecks:
    """What was checked last, empty where nothing was."""
    path = _path(home)
    if not path.exists():
        return LastChecks()
    try:
        return LastChecks.model_validate_json(path.read_text(encoding="utf-8"))
    except ValueError:
        raise DataError(f"{path} is damaged; remove it and run `gaelp data check` again.") from None


def keep_check(home: Path, result: QualityResult, page: str) -> None:
    """Keep a result and its page in place of the table's earlier one."""
    make_private_folder(_path(home).parent)
    checks = LastChecks(results={**last_checks(home).results, result.table: result})
    texts = {_path(home): checks.model_dump_json(indent=2)}
    if page:
        texts[page_path(home, result.table)] = page
    write_texts(texts)


def page_path(home: Path, table: TableName) -> Path:
    """The page of a table's latest check."""
    return home / "quality" / f"{table}.html"


def _path(home: Path) -> Path:
    return home / "quality" / "last-check.json"
