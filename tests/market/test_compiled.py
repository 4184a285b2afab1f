"""Compiled code is kept while no source is newer, and dropped whole as soon as one is."""

import os

import pytest

from gaelp.market.compiled import compiled, drop_stale


@pytest.fixture
def package(tmp_path):
    for name, age in (("a.py", 10), ("part/b.py", 10), ("part/b.f.nbi", 5), ("a.f.nbc", 5)):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    return tmp_path


def test_code_newer_than_every_source_is_kept(package):
    assert drop_stale(package) == 0
    assert (package / "a.f.nbc").exists()


def test_one_newer_source_drops_the_code_of_all(package):
    os.utime(package / "a.py", (1_000_000, 1_000_000))
    assert drop_stale(package) == 2
    assert not list(package.rglob("*.nb[ci]"))
    assert (package / "part" / "b.py").exists()


def test_a_package_without_compiled_code_is_left_alone(tmp_path):
    (tmp_path / "a.py").write_text("")
    assert drop_stale(tmp_path) == 0


def test_a_compiled_function_computes_what_it_says():
    @compiled
    def total(count: int) -> int:
        result = 0
        for i in range(count):
            result += i
        return result

    assert total(10) == 45
