import pytest

from gaelp.config.objective import Objective
from gaelp.config.write import write_models
from gaelp.errors import DataError
from gaelp.market.baselines.catalog import CATALOG
from gaelp.market.baselines.tuned import TunedBidder, TunedRules, load_tuned, market_fingerprint, tuned_name
from gaelp.market.market import Market
from gaelp.market.personas import neutral_table


@pytest.fixture
def tuned(small_market):
    bidders = {
        kind.key: TunedBidder(score=0.5, parameters=kind.parameters.model_validate({}).model_dump()) for kind in CATALOG
    }
    fingerprint = market_fingerprint(small_market)
    return TunedRules(market="test", fingerprint=fingerprint, seed=7, trials=60, campaigns=256, bidders=bidders)


@pytest.fixture
def written(tuned, tmp_path):
    path = tmp_path / "tuned.yaml"
    write_models({path: tuned})
    return path


def test_what_is_written_is_what_is_read(small_market, tuned, written):
    assert load_tuned(small_market, written) == tuned


def test_a_file_is_found_by_the_market_it_is_named_after(small_market, tuned, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_models({tmp_path / "configs" / "baselines" / "test.yaml": tuned})
    assert load_tuned(small_market) == tuned


def test_a_market_that_was_never_tuned_is_told_how(make_market):
    with pytest.raises(DataError, match=r"no bidders were tuned for market 'novel'.*gaelp market tune novel"):
        load_tuned(make_market(name="novel"))


def test_parameters_of_a_market_that_changed_are_refused(make_market, written):
    changed = make_market(days=2, segments=2, delay={"mean_hours": 3})
    with pytest.raises(DataError, match=r"fingerprint [0-9a-f]{12}.*now has.*gaelp market tune test"):
        load_tuned(changed, written)


def test_the_advice_repeats_what_was_typed_quoted_for_a_shell(make_market):
    asked = ["my market.yaml", "--set", "personas.set=a b"]
    with pytest.raises(DataError, match=r"`gaelp market tune 'my market\.yaml' --set 'personas\.set=a b'`"):
        load_tuned(make_market(name="novel"), asked=asked)


def test_the_advice_after_a_mismatch_writes_a_file_of_its_own(make_market, written, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    changed = make_market(days=2, segments=2, delay={"mean_hours": 3})
    with pytest.raises(
        DataError, match=r"tune copy\.yaml --out tuned-test\.yaml`, then give `--tuned tuned-test\.yaml`"
    ):
        load_tuned(changed, written, asked=["copy.yaml"])
    (tmp_path / "tuned-test.yaml").touch()
    with pytest.raises(DataError, match=r"--out tuned-test\.yaml --force`"):
        load_tuned(changed, written, asked=["copy.yaml"])


def test_a_file_without_the_constant_bid_is_refused(small_market, tuned, tmp_path):
    path = tmp_path / "none.yaml"
    write_models({path: tuned.model_copy(update={"bidders": {}})})
    with pytest.raises(DataError, match="no bidder 'constant'"):
        load_tuned(small_market, path)


def test_a_name_or_label_does_not_change_a_market(make_market):
    known = {"days": 2, "segments": 2}
    assert market_fingerprint(make_market(**known)) == market_fingerprint(make_market(name="b", label="c", **known))
    assert market_fingerprint(make_market(**known)) != market_fingerprint(make_market(days=2))


def test_other_personas_make_another_market(make_market, landscapes):
    market = make_market()
    assert market_fingerprint(market) != market_fingerprint(Market(market.spec, neutral_table(), landscapes))


@pytest.mark.parametrize(
    ("was", "becomes", "message"),
    [
        ("proportional: 20.0", "proportionl: 20.0", "proportionl"),
        ("step: 0.35", "step: 7", "step"),
        ("  pid:\n", "  pit:\n", "'pit' is not known"),
    ],
)
def test_a_wrong_parameter_is_named(small_market, written, was, becomes, message):
    text = written.read_text(encoding="utf-8")
    assert was in text
    written.write_text(text.replace(was, becomes, 1), encoding="utf-8")
    with pytest.raises(DataError, match=message):
        load_tuned(small_market, written)


def test_every_bidder_is_built_in_the_order_of_the_catalog(tuned):
    names = [bidder.name for bidder in tuned.build_all()]
    assert names[:2] == ["random", "constant"]
    assert len(names) == len(CATALOG)
    assert tuned.constant().name == "constant"


def test_a_bidder_that_was_not_tuned_is_refused(tuned):
    with pytest.raises(DataError, match="no tuned bidder 'oracle'"):
        tuned.build("oracle")


def test_each_objective_has_its_own_fingerprint_and_file_and_value_has_those_of_before(make_market, tuned):
    small = {"days": 2, "segments": 2, "delay": {"mean_hours": 2}}
    objectives = [Objective(), Objective(kind="profit"), Objective(kind="target_roas", target_roas=2)]
    markets = [make_market(objective, **small) for objective in objectives]
    assert [tuned_name(market) for market in markets] == ["test", "test-profit", "test-roas-2"]
    assert len({market_fingerprint(market) for market in markets}) == 3
    assert market_fingerprint(markets[0]) == tuned.fingerprint
    assert "objective" not in tuned.model_dump(mode="json")  # old files and the hashes of them stay valid
    assert TunedRules.model_validate({**tuned.model_dump(), "objective": {"kind": "profit"}}).objective.kind == "profit"


def test_bidders_tuned_for_value_are_refused_for_another_objective(make_market, written):
    market = make_market(Objective(kind="profit"), days=2, segments=2, delay={"mean_hours": 2})
    with pytest.raises(DataError, match=r"gaelp market tune test --objective profit --out tuned-test-profit\.yaml"):
        load_tuned(market, written)
