"""Compiled code is kept while no source is newer, dropped whole otherwise, and works without being kept."""

import errno
import os
from pathlib import Path

import pytest
from numba.core import caching

from gaelp.market import compiled as module
from gaelp.market.compiled import compiled, drop_stale, summing


@pytest.fixture
def package(tmp_path):
    for name, age in (("a.py", 10), ("part/b.py", 10), ("kept/b.f.nbi", 5), ("kept/a.f.nbc", 5), ("kept/notes", 5)):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    return tmp_path


@pytest.fixture
def fresh_judgement():
    """Folders are judged once a process; here each test judges again, and leaves nothing behind."""
    module._only_fresh_code_in.cache_clear()
    yield
    module._only_fresh_code_in.cache_clear()


def total(count: int) -> int:
    result = 0
    for i in range(count):
        result += i
    return result


def test_code_newer_than_every_source_is_kept(package):
    assert drop_stale(package / "kept", package) == 0
    assert (package / "kept" / "a.f.nbc").exists()


@pytest.mark.parametrize("source", ["a.py", "part/b.py"])
def test_one_newer_source_drops_the_code_of_all(package, source):
    os.utime(package / source, (1_000_000, 1_000_000))
    assert drop_stale(package / "kept", package) == 2
    assert [path.name for path in (package / "kept").iterdir()] == ["notes"]
    assert (package / "part" / "b.py").exists()


def test_a_folder_without_compiled_code_is_left_alone(package):
    os.utime(package / "a.py", (1_000_000, 1_000_000))
    assert drop_stale(package / "part", package) == 0
    assert drop_stale(package / "not-there", package) == 0


def test_a_compiled_function_computes_what_it_says_and_is_kept(fresh_judgement):
    kept = compiled(total)
    assert kept(10) == 45
    assert kept.stats.cache_path


def test_stale_code_is_dropped_from_wherever_numba_keeps_it(fresh_judgement, tmp_path, monkeypatch):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    folder = Path(compiled(total).stats.cache_path)
    assert tmp_path in folder.parents
    stale = folder / "old.f.nbi"
    stale.write_text("")
    os.utime(stale, (1, 1))
    module._only_fresh_code_in.cache_clear()
    compiled(total)
    assert not stale.exists()


@pytest.mark.parametrize("reason", [errno.EACCES, errno.EROFS])
@pytest.mark.parametrize("decorate", [compiled, summing])
def test_stale_code_that_cannot_be_removed_is_not_used(fresh_judgement, monkeypatch, tmp_path, reason, decorate):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    stale = Path(compiled(total).stats.cache_path) / "old.f.nbi"
    stale.write_text("")
    os.utime(stale, (1, 1))

    def refuse(path, missing_ok=False):
        raise OSError(reason, os.strerror(reason), str(path))

    monkeypatch.setattr(Path, "unlink", refuse)
    module._only_fresh_code_in.cache_clear()
    alone = decorate(total)
    assert alone(10) == 45
    assert alone.stats.cache_path is None
    assert stale.exists()


def test_where_numba_may_write_nowhere_functions_are_compiled_all_the_same(fresh_judgement, monkeypatch):
    monkeypatch.setattr(caching.CompileResultCacheImpl, "_locator_classes", [])
    alone = compiled(total)
    assert alone(10) == 45
    assert alone.stats.cache_path is None
