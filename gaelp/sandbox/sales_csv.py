"""Write sales to a CSV file, as a shop's system exports them: a sale that was sent back has a second row of value 0."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from gaelp.errors import BadInput
from gaelp.sandbox.control_messages import SandboxSale

__all__ = ["SALE_COLUMNS", "sale_rows", "write_sales"]

SALE_COLUMNS = (
    "id",
    "sale",
    "revision",
    "campaign",
    "ad_group",
    "click",
    "click_time",
    "sale_time",
    "recorded_time",
    "value_micros",
)


def write_sales(path: Path, sales: Sequence[SandboxSale]) -> None:
    """Write a new file; configs/pilot/sales.yaml says which column is which when it is imported."""
    try:
        with path.open("x", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, SALE_COLUMNS)
            writer.writeheader()
            writer.writerows(row for sale in sales for row in sale_rows(sale))
    except FileExistsError:
        raise BadInput(f"{path} exists already: name another file, or delete it first") from None
    except OSError as problem:
        raise BadInput(f"{path} cannot be written ({problem.strerror}): name another file") from None


def sale_rows(sale: SandboxSale) -> Iterator[dict[str, object]]:
    """The sale as it was recorded, and its refund."""
    same = {
        "sale": sale.sale,
        "campaign": sale.campaign,
        "ad_group": sale.segment,
        "click": sale.click,
        "click_time": sale.click_at.isoformat(),
        "sale_time": sale.at.isoformat(),
    }
    yield {
        **same,
        "id": f"{sale.sale}-0",
        "revision": 0,
        "recorded_time": sale.at.isoformat(),
        "value_micros": sale.value_micros,
    }
    if sale.refunded_at is not None:
        yield {
            **same,
            "id": f"{sale.sale}-1",
            "revision": 1,
            "recorded_time": sale.refunded_at.isoformat(),
            "value_micros": 0,
        }
