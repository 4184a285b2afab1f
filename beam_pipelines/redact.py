"""Job: a copy of a stored table that may leave this machine.

    python -m beam_pipelines.redact --table decisions --input 'data/decisions/**.parquet' --output redacted \\
        --key_file redaction.key

Results: OUTPUT/<table>: only allowed columns, identifiers as keyed hashes (equal ones stay equal under one key), and
e-mail addresses, phone and card numbers, IP addresses and keys replaced in what text remains. Rows that lack a required
column are in OUTPUT/dead_letters.
"""

import hashlib
import sys
from collections.abc import Mapping, Sequence
from functools import cache, partial

import pyarrow as pa
import pyarrow.compute as pc
from apache_beam.io.filesystem import BeamIOError, CompressionTypes
from apache_beam.io.filesystems import FileSystems
from pydantic import Field

from beam_pipelines.options import JobOptions, parse_options
from beam_pipelines.running import JobReport, main, run_job
from beam_pipelines.sharded_job import JobInput, ShardedJob
from gaelp.errors import BadInput
from gaelp.jobs.redaction import allowed_columns, redact_stored
from gaelp.jobs.screening import join_tables, keep_valid
from gaelp.storage.schema import TABLES, TableName

__all__ = ["RedactOptions", "read_key", "redact_job", "run"]


class RedactOptions(JobOptions):
    """Options of `redact`."""

    table: TableName = Field(description="the stored table: episodes, decisions, auctions, clicks, conversions, ...")
    input: str = Field(min_length=1, description="pattern of its Parquet files")
    key_file: str = Field(
        min_length=1, description="file with the key of the hashes, 16 characters or more; never an option itself"
    )


def redact_job(options: RedactOptions) -> ShardedJob:
    """Redact each table, then write the rows of each day in their order."""
    key = read_key(options.key_file)
    columns = tuple(name for name in TABLES[options.table].columns.names if name in allowed_columns(options.table))
    return ShardedJob(
        name="redact",
        version=1,
        steps=("Redact", "WriteInOrder"),
        inputs=(JobInput(options.table, options.input, columns),),
        prepare=partial(_prepare, key_file=options.key_file),
        finish=partial(_finish, name=options.table, columns=columns),
        by_day=True,
        settings={"table": options.table.value, "key": hashlib.sha256(key).hexdigest()[:16]},
    )


def run(argv: Sequence[str] | None = None) -> JobReport:
    """Run the job with these command-line options."""
    options, for_beam = parse_options(RedactOptions, argv, job="redact", about=__doc__ or "")
    return run_job(redact_job(options), options, for_beam)


@cache
def read_key(path: str) -> bytes:
    """The key of the hashes. Each worker reads it: the pipeline that is sent to a cluster does not contain it."""
    try:
        with FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED) as stream:
            key: bytes = stream.read().strip()
    except (BeamIOError, OSError) as error:
        raise BadInput(f"--key_file={path} cannot be read ({error}): give the file that holds the key") from error
    return key


def _prepare(name: TableName, table: pa.Table, *, key_file: str) -> Mapping[str, pa.Table]:
    return {name.value: redact_stored(name, table, read_key(key_file))}


def _finish(tables: Mapping[str, list[pa.Table]], *, name: TableName, columns: Sequence[str]) -> Mapping[str, pa.Table]:
    schema = pa.schema([TABLES[name].columns.field(column) for column in columns])
    rows = join_tables(tables.get(name.value, []), schema)
    required = [column for column in TABLES[name].required if column in columns]
    problems = {f"{column} is missing": pc.is_null(rows.column(column)) for column in required}
    screened = keep_valid(name, rows, problems)
    return {name.value: screened.valid.cast(schema), "dead_letters": screened.dead}


if __name__ == "__main__":
    sys.exit(main("redact"))
