"""Whatever is changed behind the registry's back is refused by name: files, manifests, records, keys and aliases."""

import json
import random
import re
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from gaelp.approvals import AuditLog, approvals_place, open_database
from gaelp.approvals.canonical import canonical, digest
from gaelp.approvals.keys import PublicKeyFile, new_key, save_key
from gaelp.database.append_only import _walls
from gaelp.errors import GaelpError
from gaelp.registry import Tampered, restore_mlflow
from gaelp.registry.records import ModelRecord, _covered

DATABASES = ("registry.db", "decisions.db", "approvals.db")
STORED = (*DATABASES, *(f"{name}.head" for name in DATABASES), "registry.key", "models")
COLUMNS = ModelRecord.__slots__


class Attacked:
    """A home with three versions that can be changed and restored: 2 is champion, 1 previous, 3 challenger."""

    def __init__(self, world, other, pristine):
        for run in ("run-1", "run-2"):
            world.promote(world.approve(run))
        world.promote(world.approve("run-3"), "challenger")
        other.promote(other.approve("run-1"))  # another registry with a key of its own
        self.world, self.other, self.pristine = world, other, pristine
        self.home = world.home
        for name in DATABASES:
            with closing(sqlite3.connect(self.home / name)) as database:
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        pristine.mkdir()
        for name in STORED:
            copy(self.home / name, pristine / name)
        self.mlflow = sqlite3.connect(":memory:")
        with closing(sqlite3.connect(self.home / "mlflow.db")) as database:
            database.backup(self.mlflow)

    def restore(self):
        for name in STORED:
            remove(self.home / name)
            for end in ("-wal", "-shm"):
                remove(self.home / f"{name}{end}")
            copy(self.pristine / name, self.home / name)
        with closing(sqlite3.connect(self.home / "mlflow.db")) as database:
            self.mlflow.backup(database)

    def use_everything(self):
        """What anybody could do with the registry."""
        registry = self.world.open()
        versions = [registry.holder("shop", alias) for alias in ("champion", "challenger", "previous")]
        return [version and version.manifest.version for version in versions]

    def folder(self, version):
        return self.home / "models" / "shop" / str(version)

    def files(self):
        return sorted(path for path in (self.home / "models").rglob("*") if path.is_file())

    def sql(self, name, *statements):
        with closing(sqlite3.connect(self.home / name)) as database:
            for statement, *values in statements:
                database.execute(statement, values)
            database.commit()

    def rows(self):
        with closing(sqlite3.connect(self.home / "registry.db")) as database:
            return [ModelRecord(*row) for row in database.execute("SELECT * FROM model_record ORDER BY seq")]

    def write_rows(self, rows):
        """Replace all rows as somebody who may write to the file can: triggers out, rows in, triggers back."""
        walls = list(_walls("sqlite", ("model_record",)))
        insert = "INSERT INTO model_record VALUES (?, ?, ?, ?, ?, ?, ?)"
        self.sql(
            "registry.db",
            *((f"DROP TRIGGER {name}",) for name, _ in walls),
            ("DELETE FROM model_record",),
            *((insert, *(getattr(row, name) for name in COLUMNS)) for row in rows),
            *((statement,) for _, statement in walls),
        )


def copy(source, target):
    if source.is_dir():
        shutil.copytree(source, target)
    elif source.exists():
        shutil.copy2(source, target)


def remove(path):
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def linked(rows, key=None):
    """Rows whose hashes and links fit again; signed with a key if one is given, else with their old signatures."""
    previous, out = "0" * 64, []
    for seq, row in enumerate(rows):
        covered = _covered(seq, row.at, row.kind, json.loads(row.body), previous)
        hashed = digest("model-record", covered)
        signature = key.sign("model-record", covered) if key else row.signature
        out.append(replace(row, seq=seq, previous_hash=previous, hash=hashed, signature=signature))
        previous = hashed
    return out


# Files


def flip_a_bit(home, rng):
    path = rng.choice(home.files())
    content = bytearray(path.read_bytes())
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(content)
    return path.name


def truncate_a_file(home, rng):
    path = rng.choice(home.files())
    content = path.read_bytes()
    path.write_bytes(content[: rng.randrange(len(content))])
    return path.name


def lengthen_a_file(home, rng):
    path = rng.choice(home.files())
    path.write_bytes(path.read_bytes() + rng.randbytes(rng.randint(1, 50)))
    return path.name


def delete_a_file(home, rng):
    path = rng.choice(home.files())
    path.unlink()
    return path.name


def rename_a_file(home, rng):
    path = rng.choice(home.files())
    path.rename(path.with_name(f"{path.name}.{rng.choice('abc')}"))
    return path.name


def add_a_file(home, rng):
    folder = rng.choice(
        [path for path in (home.folder(rng.randint(1, 3)), *home.folder(1).rglob("*")) if path.is_dir()]
    )
    path = folder / f"extra-{rng.randrange(99)}.bin"
    path.mkdir() if rng.random() < 0.2 else path.write_bytes(rng.randbytes(rng.randrange(9)))
    return path.name


def replace_a_file_by_a_link(home, rng):
    path = rng.choice(home.files())
    target = home.home / "elsewhere"
    shutil.copy2(path, target)
    path.unlink()
    path.symlink_to(target)
    return path.name


def exchange_files_of_two_versions(home, rng):
    name = rng.choice(("files/policy.bin", "manifest.json", "manifest.signature", "files/verdicts/1-simulation.json"))
    first, second = (home.folder(version) / name for version in rng.sample((1, 2, 3), 2))
    contents = first.read_bytes(), second.read_bytes()
    first.write_bytes(contents[1])
    second.write_bytes(contents[0])
    return first.name


def exchange_two_version_folders(home, rng):
    first, second = map(home.folder, rng.sample((1, 2, 3), 2))
    first.rename(home.home / "aside")
    second.rename(first)
    (home.home / "aside").rename(second)
    return "manifest.json"


def delete_a_version_folder(home, rng):
    version = rng.randint(1, 3)
    shutil.rmtree(home.folder(version))
    return f"version {version} of shop"


# Manifests


def edited(manifest, rng):
    """A manifest that says something better than the truth."""
    change = rng.choice(
        (
            lambda: manifest["metrics"].update({rng.choice(sorted(manifest["metrics"])): repr(rng.random() * 9)}),
            lambda: manifest["verdicts"][0].update(outcome="fail", summary=f"changed {rng.random()}"),
            lambda: manifest.update(model_hash=rng.randbytes(32).hex()),
            lambda: manifest.update(config_hash=f"other-{rng.random()}"),
            lambda: manifest.update(agent=f"agent {rng.random()}"),
            lambda: manifest.update(commit=rng.randbytes(20).hex()),
            lambda: manifest["packages"].update(numpy=f"9.{rng.randrange(99)}"),
            lambda: manifest["lineage"].update(run_id=f"run-{rng.randrange(9, 99)}"),
            lambda: manifest["lineage"].update(parent=rng.randint(5, 9)),
            lambda: manifest["files"][0].update(sha256=rng.randbytes(32).hex()),
            lambda: manifest["data_windows"][0].update(source=f"another market {rng.random()}"),
            lambda: manifest.update(feature_version=f"view-{rng.random()}"),
            lambda: manifest.update(registered_at="2020-01-01T00:00:00Z"),
        )
    )
    change()
    return manifest


def forge_a_manifest(home, rng):
    path = home.folder(rng.randint(1, 3)) / "manifest.json"
    path.write_bytes(canonical(edited(json.loads(path.read_bytes()), rng)))
    return "manifest.json"


def forge_a_manifest_with_another_key(home, rng):
    folder = home.folder(rng.randint(1, 3))
    manifest = edited(json.loads((folder / "manifest.json").read_bytes()), rng)
    (folder / "manifest.json").write_bytes(canonical(manifest))
    (folder / "manifest.signature").write_text(new_key("thief").sign("model-manifest", manifest))
    return "manifest"


def forge_a_manifest_in_folder_and_record(home, rng):
    rows = home.rows()
    number = rng.choice([row.seq for row in rows if row.kind == "version"])
    body = json.loads(rows[number].body)
    manifest = edited(body["manifest"], rng)
    body["manifest_hash"] = digest("model-manifest", manifest)
    folder = home.folder(json.loads(rows[number].body)["manifest"]["version"])
    (folder / "manifest.json").write_bytes(canonical(manifest))
    rows[number] = replace(rows[number], body=canonical(body).decode())
    home.write_rows(linked(rows))
    return f"record {number}"


def take_the_signature_of_another_registry(home, rng):
    other = home.other.home / "models" / "shop" / "1" / "manifest.signature"
    shutil.copy2(other, home.folder(rng.randint(1, 3)) / "manifest.signature")
    return "manifest.signature"


# Records


def change_a_column(home, rng):
    row = rng.choice(home.rows())
    name = rng.choice(COLUMNS[1:])
    text = getattr(row, name)
    place = rng.randrange(len(text))
    changed = text[:place] + rng.choice([mark for mark in "0123456789abc" if mark != text[place]]) + text[place + 1 :]
    rows = [replace(row, **{name: changed}) if other.seq == row.seq else other for other in home.rows()]
    home.write_rows(rows)
    return r"record \d"


def delete_records(home, rng):
    rows = home.rows()
    first = rng.randrange(len(rows))
    last = rng.choice((first + 1, len(rows)))
    home.write_rows(rows[:first] + rows[last:])
    return r"record \d|was deleted"


def delete_records_and_close_the_gap(home, rng):
    rows = home.rows()
    gone = rng.randrange(1, len(rows))
    home.write_rows(linked(rows[:gone] + rows[gone + 1 :]))
    return r"record \d"


def exchange_two_records(home, rng):
    rows = home.rows()
    first, second = sorted(rng.sample(range(len(rows)), 2))
    rows[first], rows[second] = (
        replace(rows[second], seq=rows[first].seq),
        replace(rows[first], seq=rows[second].seq),
    )
    home.write_rows(rows)
    return r"record \d"


def move_an_alias_in_the_record(home, rng):
    rows = home.rows()
    number = rng.choice([row.seq for row in rows if row.kind == "aliases"])
    body = json.loads(rows[number].body)
    alias = rng.choice(("champion", "challenger", "previous"))
    body["after"][alias] = rng.choice([version for version in (1, 2, 3, None) if version != body["after"][alias]])
    rows[number] = replace(rows[number], body=canonical(body).decode())
    home.write_rows(linked(rows) if rng.random() < 0.5 else rows)
    return f"record {number}"


def add_a_move_with_another_key(home, rng):
    rows = home.rows()
    moves = [json.loads(row.body) for row in rows if row.kind == "aliases"]
    body = moves[-1] | {"before": moves[-1]["after"], "by": f"thief {rng.random()}"}
    added = replace(rows[-1], seq=len(rows), body=canonical(body).decode())
    signed = linked([*rows, added], new_key("thief"))
    home.write_rows([*rows, signed[-1]])
    return f"record {len(rows)}"


def copy_a_move_to_the_end(home, rng):
    rows = home.rows()
    repeated = rng.choice([row for row in rows if row.kind == "aliases"])
    home.write_rows(linked([*rows, repeated]))
    return r"record \d"


def sign_everything_with_another_key(home, rng):
    key, rows = new_key("model-registry"), home.rows()
    rows[0] = replace(rows[0], body=canonical(PublicKeyFile.of(key).model_dump(mode="json")).decode())
    home.write_rows(linked(rows, key))
    if rng.random() < 0.7:
        (home.home / "registry.key").unlink()
        save_key(key, home.home / "registry.key", None)
    return r"registry\.key|record \d"


def replace_the_key(home, rng):
    (home.home / "registry.key").unlink()
    save_key(new_key(f"thief-{rng.randrange(9)}"), home.home / "registry.key", None)
    return r"registry\.key"


def drop_a_trigger(home, rng):
    name = rng.choice([name for name, _ in _walls("sqlite", ("model_record",))])
    home.sql("registry.db", (f"DROP TRIGGER {name}",))
    return name


def take_the_database_of_another_registry(home, rng):
    for name in ("registry.db", "registry.db.head"):
        shutil.copy2(home.other.home / name, home.home / name)
    if rng.random() < 0.5:
        shutil.copy2(home.other.home / "registry.key", home.home / "registry.key")
    return r"registry\.key|record \d"


def delete_the_registry(home, rng):
    for name in ("registry.db", "registry.db.head", *(() if rng.random() < 0.5 else ("registry.key",))):
        (home.home / name).unlink()
    return r"record \d of the registry"


# Approvals


def change_the_decision_behind_an_alias(home, rng):
    walls = list(_walls("sqlite", ("gate_decision",)))
    run = rng.choice(("run-1", "run-2", "run-3"))
    change = rng.choice(
        (
            ("DELETE FROM gate_decision WHERE run_id = ?", run),
            ("UPDATE gate_decision SET body = replace(body, 'Ada', 'Eve') WHERE run_id = ?", run),
            ("UPDATE gate_decision SET run_id = 'run-9' WHERE run_id = ?", run),
        )
    )
    home.sql("decisions.db", *((f"DROP TRIGGER {name}",) for name, _ in walls), change)
    return "record of decisions"


# MLflow


def move_an_alias_in_mlflow(home, rng):
    alias, holder = rng.choice((("champion", 2), ("previous", 1), ("challenger", 3)))
    version = rng.choice([version for version in (1, 2, 3) if version != holder])
    home.sql("mlflow.db", ("UPDATE registered_model_aliases SET version = ? WHERE alias = ?", version, alias))
    return rf"MLflow says that {alias} of shop is version {version}; recorded is version {holder}"


def delete_an_alias_in_mlflow(home, rng):
    alias = rng.choice(("champion", "previous", "challenger"))
    home.sql("mlflow.db", ("DELETE FROM registered_model_aliases WHERE alias = ?", alias))
    return rf"MLflow says that {alias} of shop is no version"


def exchange_the_aliases_in_mlflow(home, rng):
    order = rng.choice(((3, 2, 1), (1, 3, 2), (1, 2, 3), (3, 1, 2), (2, 3, 1)))  # it is 2, 1, 3
    for alias, version in zip(("champion", "previous", "challenger"), order, strict=True):
        home.sql("mlflow.db", ("UPDATE registered_model_aliases SET version = ? WHERE alias = ?", version, alias))
    return r"MLflow says that \w+ of shop"


def change_a_hash_in_mlflow(home, rng):
    version = rng.randint(1, 3)
    where = "WHERE version = ? AND key = 'gaelp.manifest_hash'"
    change = rng.choice(
        ("UPDATE model_version_tags SET value = 'ff' ||  substr(value, 4) || 'f'", "DELETE FROM model_version_tags")
    )
    home.sql("mlflow.db", (f"{change} {where}", version))
    return rf"MLflow says that version {version} of shop has the manifest"


def change_a_source_in_mlflow(home, rng):
    version = rng.randint(1, 3)
    home.sql(
        "mlflow.db", ("UPDATE model_versions SET source = ? WHERE version = ?", f"file:///tmp/{rng.random()}", version)
    )
    return rf"files of version {version} of shop"


def add_a_version_in_mlflow(home, rng):
    insert = (
        "INSERT INTO model_versions (name, version, source, current_stage, status, workspace)"
        " VALUES ('shop', ?, 'file:///x', 'None', 'READY', 'default')"
    )
    number = rng.randint(4, 9)
    home.sql("mlflow.db", (insert, number))
    return rf"MLflow has a version {number} of shop that was never registered"


def delete_a_version_in_mlflow(home, rng):
    version = rng.randint(1, 3)
    home.sql("mlflow.db", ("UPDATE model_versions SET current_stage = 'Deleted_Internal' WHERE version = ?", version))
    return rf"version {version} of shop was deleted in MLflow"


FILES = (
    flip_a_bit, flip_a_bit, flip_a_bit, truncate_a_file, lengthen_a_file, delete_a_file, rename_a_file, add_a_file,
    replace_a_file_by_a_link, exchange_files_of_two_versions, exchange_two_version_folders, delete_a_version_folder,
)  # fmt: skip
MANIFESTS = (
    forge_a_manifest, forge_a_manifest, forge_a_manifest_with_another_key, forge_a_manifest_in_folder_and_record,
    take_the_signature_of_another_registry,
)  # fmt: skip
RECORDS = (
    change_a_column, change_a_column, delete_records, delete_records_and_close_the_gap, exchange_two_records,
    move_an_alias_in_the_record, add_a_move_with_another_key, copy_a_move_to_the_end, sign_everything_with_another_key,
    replace_the_key, drop_a_trigger, take_the_database_of_another_registry, delete_the_registry,
    change_the_decision_behind_an_alias,
)  # fmt: skip
MLFLOW = (
    move_an_alias_in_mlflow, move_an_alias_in_mlflow, delete_an_alias_in_mlflow, exchange_the_aliases_in_mlflow,
    change_a_hash_in_mlflow, change_a_source_in_mlflow, add_a_version_in_mlflow, delete_a_version_in_mlflow,
)  # fmt: skip
MUTATIONS = (*FILES, *MANIFESTS, *RECORDS, *MLFLOW)


@pytest.fixture(scope="module")
def attacked(databases, world_in):
    folder = databases.quick_folder() / "attacked"
    folder.mkdir()
    return Attacked(world_in(folder / "home"), world_in(folder / "other"), folder / "pristine")


def refused(attacked, mutate, rng):
    """Change something, try to use the registry, restore it; what was wrong with the refusal, if anything."""
    expected = mutate(attacked, rng)
    try:
        attacked.use_everything()
    except GaelpError as refusal:
        return None if re.search(expected, str(refusal)) else f"{mutate.__name__}: {expected!r} is not in: {refusal}"
    finally:
        attacked.restore()
    return f"{mutate.__name__} was accepted"


def run_mutations(attacked, count, seed):
    assert attacked.use_everything() == [2, 3, 1]
    rng = random.Random(seed)  # noqa: S311 - the same attacks each time
    problems = [refused(attacked, MUTATIONS[number % len(MUTATIONS)], rng) for number in range(count)]
    assert [problem for problem in problems if problem] == []
    assert attacked.use_everything() == [2, 3, 1]


def test_two_mutations_of_each_kind_are_refused_by_name(attacked):
    run_mutations(attacked, 2 * len(MUTATIONS), seed=1)


def test_a_refusal_writes_nothing(attacked):
    """What was found is left as it is: evidence."""
    move_an_alias_in_mlflow(attacked, random.Random(2))  # noqa: S311
    before = {path: path.read_bytes() for path in attacked.home.rglob("*.db")}
    with pytest.raises(Tampered, match="MLflow says"):
        attacked.world.promote(3)
    assert {path: path.read_bytes() for path in attacked.home.rglob("*.db")} == before
    attacked.restore()


def test_restoring_mlflow_undoes_what_was_changed_there_and_says_who_asked(attacked):
    for mutate in (move_an_alias_in_mlflow, delete_a_version_in_mlflow, add_a_version_in_mlflow):
        mutate(attacked, random.Random(3))  # noqa: S311
    world = attacked.world
    assert restore_mlflow(world.settings, world.clock, by="ann", why="the intern") == ("shop",)
    assert attacked.use_everything() == [2, 3, 1]
    rows = AuditLog(open_database(approvals_place(world.settings))).rows()
    assert json.loads(rows[-1].body)["by"] == "ann"
    attacked.restore()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_thousand_mutations_are_refused_by_name(attacked):
    run_mutations(attacked, 1000, seed=20261118)
