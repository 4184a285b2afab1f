import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.errors import ConfigError
from gaelp.market.ratings_cache import RatingsCache, prompt_hash

KEY = prompt_hash("model", "prompt")
SCORES = {"first": 1.0, "second": 0.1 + 0.2}


@pytest.fixture(scope="module")
def shared_cache(tmp_path_factory):
    return RatingsCache(tmp_path_factory.mktemp("ratings"))


@pytest.fixture
def cache(tmp_path):
    return RatingsCache(tmp_path)


@given(scores=st.dictionaries(st.text(), st.floats(allow_nan=False, allow_infinity=False)))
def test_scores_come_back_exactly(shared_cache, scores):
    shared_cache.store(KEY, scores)
    assert shared_cache.load(KEY) == scores


def test_unknown_prompt_has_no_scores(cache):
    assert cache.load(KEY) is None


def test_hash_tells_model_and_prompt_apart():
    assert len({prompt_hash("a", "bc"), prompt_hash("ab", "c"), prompt_hash("abc", "")}) == 3


def test_writers_at_once_leave_one_whole_entry(cache):
    writers = [threading.Thread(target=cache.store, args=(KEY, {"first": float(n)})) for n in range(16)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert cache.load(KEY)["first"] in range(16)
    assert len(list(cache.folder.iterdir())) == 1


def test_entry_that_cannot_be_replaced_is_told_and_leaves_nothing_behind(cache):
    (cache.folder / f"{KEY}.json").mkdir()
    with pytest.raises(ConfigError, match="cannot be used"):
        cache.store(KEY, SCORES)
    with pytest.raises(ConfigError, match="cannot be used"):
        cache.load(KEY)
    assert len(list(cache.folder.iterdir())) == 1
