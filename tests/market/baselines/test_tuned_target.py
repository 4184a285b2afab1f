import pytest

from gaelp.config.write import write_models
from gaelp.errors import DataError
from gaelp.market.baselines.tuned import TunedRules, market_fingerprint
from gaelp.market.baselines.tuned_target import target_file


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tuned_for(market, **changes):
    rules = {"market": "test", "fingerprint": market_fingerprint(market), "seed": 7, "trials": 1, "campaigns": 1}
    return TunedRules.model_validate({**rules, "bidders": {}, **changes})


def test_without_a_path_the_file_is_named_after_the_market_in_the_current_folder(small_market, here):
    assert target_file(small_market, None, replace=False) == here / "configs" / "baselines" / "test.yaml"
    assert list(here.iterdir()) == []


def test_a_path_is_made_absolute(small_market, here):
    (here / "below").mkdir()
    assert target_file(small_market, "below/../own.yaml", replace=False).is_absolute()


def test_what_was_tuned_for_the_same_market_may_be_replaced(small_market, here):
    write_models({here / "own.yaml": tuned_for(small_market)})
    assert target_file(small_market, here / "own.yaml", replace=False) == here / "own.yaml"


@pytest.mark.parametrize("text", ["", "name: test\n"])
def test_a_file_that_holds_something_else_is_replaced_only_if_asked(small_market, here, text):
    (here / "own.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"own\.yaml is no file of tuned bidders.*--force"):
        target_file(small_market, here / "own.yaml", replace=False)
    assert target_file(small_market, here / "own.yaml", replace=True) == here / "own.yaml"


def test_what_was_tuned_for_another_market_is_replaced_only_if_asked(small_market, here):
    path = here / "configs" / "baselines" / "test.yaml"
    write_models({path: tuned_for(small_market, fingerprint="0" * 64)})
    with pytest.raises(DataError, match=r"another market \(fingerprint 000000000000.*replaced.*--out.*--force"):
        target_file(small_market, None, replace=False)
    assert target_file(small_market, None, replace=True) == path


def test_a_shipped_file_is_not_hidden_by_another_market_of_its_name(make_market, here):
    with pytest.raises(DataError, match=r"baselines/cal\.yaml was tuned for another market.*hidden"):
        target_file(make_market(name="cal", days=1), None, replace=False)


@pytest.mark.parametrize(
    ("out", "message"),
    [(".", "is a folder"), ("tuned", "ends in .yaml"), ("file/tuned.yaml", "cannot be written: Not a directory")],
)
def test_a_place_that_cannot_be_written_is_named(small_market, here, out, message):
    (here / "file").touch()
    with pytest.raises(DataError, match=message):
        target_file(small_market, here / out, replace=True)
