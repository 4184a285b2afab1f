"""A backup is whole, of one moment, private, and can be restored; making one holds nobody up."""

import json
import shutil
import stat
import subprocess
import sys
import tarfile
import threading
from contextlib import closing

import pytest

from gaelp.bootstrap import open_books
from gaelp.budget.ledger import Cap, CapKind, Reservation, reserve, verify
from gaelp.config import load_settings
from gaelp.errors import BadInput, GaelpError
from gaelp.home_backup import back_up
from gaelp.money import Money
from gaelp.registry.records import open_records
from gaelp.registry.registry_key import make_key

CAPS = tuple(Cap(kind, "all" if kind is CapKind.TOTAL else "acc") for kind in (CapKind.ACCOUNT, CapKind.TOTAL))


@pytest.fixture
def settings_of():
    def make(home):
        return load_settings(None, overrides=[f"home={home}"]).settings

    return make


@pytest.fixture
def home(tmp_path, old_home):
    """A home with something in every store."""
    shutil.copytree(old_home, tmp_path / "home")
    return tmp_path / "home"


def test_a_backup_that_is_restored_verifies_and_holds_every_store(home, tmp_path, settings_of):
    written = back_up(settings_of(home), tmp_path / "b.tar")
    restored = tmp_path / "restored"
    with tarfile.open(tmp_path / "b.tar") as archive:
        archive.extractall(restored, filter="data")
    names = {"ledger.db", "approvals.db", "decisions.db", "violations.sqlite", "content/reviews.sqlite"}
    assert names | {"approvers.yaml"} <= set(written.files)
    assert json.loads((restored / "backup.json").read_text())["files"] == written.files
    with closing(open_books(settings_of(restored))) as ledger:
        assert verify(ledger).findings == ()
    result = subprocess.run(
        [sys.executable, "-m", "gaelp.cli", "audit", "verify", "--set", f"home={restored}"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert "51 rows" in result.stdout, result.stderr


def test_a_backup_is_private_and_replaces_nothing(home, tmp_path, settings_of):
    target = tmp_path / "b.tar"
    back_up(settings_of(home), target)
    before = target.read_bytes()
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    with pytest.raises(BadInput, match="replaces nothing"):
        back_up(settings_of(home), target)
    assert (target.read_bytes(), {path.name for path in tmp_path.iterdir()}) == (before, {"home", "b.tar"})


def test_spenders_go_on_while_a_backup_is_made_and_the_copy_balances(home, tmp_path, settings_of):
    settings, done, problems = settings_of(home), threading.Event(), []

    def spend():
        with closing(open_books(settings)) as ledger:
            number = 0
            while not done.is_set():
                try:
                    reserve(ledger, Reservation(f"key-{number}", "acc", Money(1, "USD"), CAPS))
                except GaelpError as problem:
                    problems.append(problem)
                number += 1

    spender = threading.Thread(target=spend)
    spender.start()
    try:
        for number in range(3):
            back_up(settings, tmp_path / f"{number}.tar")
    finally:
        done.set()
        spender.join()
    assert problems == []
    for number in range(3):
        restored = tmp_path / f"restored-{number}"
        with tarfile.open(tmp_path / f"{number}.tar") as archive:
            archive.extractall(restored, filter="data")
        with closing(open_books(settings_of(restored))) as ledger:
            assert verify(ledger).findings == ()


def test_a_home_without_a_ledger_has_nothing_to_back_up(tmp_path, settings_of):
    with pytest.raises(BadInput, match="there is no ledger"):
        back_up(settings_of(tmp_path / "none"), tmp_path / "b.tar")
    assert list(tmp_path.iterdir()) == []


def test_books_in_postgres_are_left_to_its_own_tool(tmp_path, settings_of, monkeypatch):
    monkeypatch.setenv("GAELP__BUDGET__DATABASE_URL", "postgresql://me:hunter2@127.0.0.1:1/none")
    with pytest.raises(BadInput, match="pg_dump"):
        back_up(settings_of(tmp_path), tmp_path / "b.tar")


CREATE = ("ledger", "create", "acc", "--currency=USD", "--time-zone=UTC")


@pytest.mark.parametrize("first", [CREATE, ("violations", "list"), ("content", "queue")], ids=" ".join)
def test_everything_in_a_home_is_private_whichever_command_comes_first(tmp_path, first):
    home = tmp_path / "home"
    if first is not CREATE:
        home.mkdir(mode=0o700)  # which they read, and do not make
    command = [sys.executable, "-m", "gaelp.cli", *first, "--set", f"home={home}"]
    subprocess.run(command, check=False, capture_output=True, timeout=120, umask=0o022)
    paths = [home, *home.rglob("*")]
    assert len(paths) > 1
    assert {path: stat.S_IMODE(path.stat().st_mode) & 0o077 for path in paths} == dict.fromkeys(paths, 0)


def test_the_models_and_the_key_that_signs_them_are_in_the_backup(home, tmp_path, settings_of):
    for path in ("models/shop/1/manifest.json", "models/shop/1/files/policy.bin", "models/shop/.draft-x/policy.bin"):
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_bytes(path.encode())
    make_key(home / "registry.key")
    open_records(home / "registry.db", create=True).close()
    written = set(back_up(settings_of(home), tmp_path / "b.tar").files)
    models = {name for name in written if name.startswith("models/")}
    assert models == {"models/shop/1/manifest.json", "models/shop/1/files/policy.bin"}  # a draft is no version
    assert {"registry.db", "registry.db.head", "registry.key"} <= written
    with tarfile.open(tmp_path / "b.tar") as archive:
        archive.extractall(tmp_path / "restored", filter="data")
    assert (tmp_path / "restored/models/shop/1/files/policy.bin").read_bytes() == b"models/shop/1/files/policy.bin"


def test_a_home_with_models_and_without_a_ledger_can_be_backed_up(tmp_path, settings_of):
    open_records(tmp_path / "home" / "registry.db", create=True).close()
    assert set(back_up(settings_of(tmp_path / "home"), tmp_path / "b.tar").files) == {"registry.db", "registry.db.head"}
