"""Secrets that are planted in the environment of a whole pilot: no log, database, report or artifact has them."""

import base64
import os
import re
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from gaelp.phases.run_folder import RunFolder
from gaelp.types import Phase

ROOT = Path(__file__).resolve().parents[2]
SECRETS = {
    "GAELP__PLATFORM__GOOGLE_ADS__DEVELOPER_TOKEN": "planted-Developer_token-7f3a",
    "GAELP__PLATFORM__GOOGLE_ADS__CLIENT_ID": "planted-client-id-55aa.apps",
    "GAELP__PLATFORM__GOOGLE_ADS__CLIENT_SECRET": "planted-client/secret+91c2=",
    "GAELP__PLATFORM__GOOGLE_ADS__REFRESH_TOKEN": "1//planted-refresh_token-b81d",
    "GAELP__PLATFORM__META_ADS__ACCESS_TOKEN": "EAAplanted-access-token-03ce",
    "GAELP__PLATFORM__META_ADS__APP_SECRET": "planted-app-secret-d4e6",
}
PASSWORD = "planted-database-password-c0de"
IDS = {
    "GAELP__PLATFORM__GOOGLE_ADS__CUSTOMER_ID": "1000000001",
    "GAELP__PLATFORM__META_ADS__ACCOUNT_ID": "1",
    "GAELP__PLATFORM__META_ADS__PAGE_ID": "2",
}


def spellings(secret):
    """The secret as it is, in base64 and in hex."""
    plain = secret.encode()
    return plain, base64.b64encode(plain).rstrip(b"="), plain.hex().encode()


def stored_rows(url):
    """Every row of every table that the URL leads to, as text."""
    with psycopg.connect(url) as connection:
        tables = connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables"
            " WHERE table_schema NOT IN ('pg_catalog', 'information_schema')"
        ).fetchall()
        for schema, table in tables:
            for (row,) in connection.execute(f'SELECT t::text FROM "{schema}"."{table}" t'):  # noqa: S608 - our tables
                yield f"{schema}.{table}", row.encode()


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_planted_secrets_are_nowhere_after_a_whole_pilot(tmp_path, history_home, pilot_home, databases):
    home = tmp_path / "home"
    settings = history_home.settings_of(home, *pilot_home.SMALL)
    previous = history_home.validated(settings, history_home.trained(settings, "first"))
    pilot_home.store_plan(pilot_home.assignment(settings, previous, history_home))
    place = str(databases.fresh_place("postgres"))
    url, count = re.subn(r"^(postgresql(?:\+\w+)?://[^:@/]+):?[^@/]*@", rf"\g<1>:{PASSWORD}@", place)
    assert count == 1, place
    environment = {
        **os.environ,
        **SECRETS,
        **IDS,
        "GAELP__BUDGET__DATABASE_URL": url,
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", "tests.phases.secret_pilot", str(home), *pilot_home.SMALL]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert RunFolder(home, "first").phase(Phase.PILOT).result().exists()
    assert done.stderr.count(b"[redacted]") >= 3  # the log was asked to show them
    rows = list(stored_rows(place))
    assert any(name.endswith("pilot_decision") for name, _ in rows)  # the password was used
    files = [path for path in sorted(tmp_path.rglob("*")) if path.is_file()]
    places = [("stdout", done.stdout), ("stderr", done.stderr), *rows]
    places += [(str(path), path.read_bytes()) for path in files]
    planted = [spelling for secret in (*SECRETS.values(), PASSWORD, url) for spelling in spellings(secret)]
    assert len(files) > 50
    assert [(name, found) for name, data in places for found in planted if found in data] == []
