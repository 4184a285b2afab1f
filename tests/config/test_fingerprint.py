import copy
import hashlib
import json
import string

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from gaelp.config import Frozen, Settings, fingerprint, load_settings
from gaelp.config.schema import leaf_keys, secret_keys

CHANNELS = {
    "webhook": {"url": "http://h", "timeout_seconds": 5.0, "attempts": 3, "wait_seconds": 0.5},
    "email": {
        "host": "h",
        "port": 25,
        "sender": "a@b",
        "recipients": ["c@d"],
        "starttls": True,
        "user": "u",
        "password": "p",
        "timeout_seconds": 10.0,
    },
}
GATEWAY = {
    "host": "127.0.0.1",
    "port": 4290,
    "token": "t",
    "admin_token": "a",
    "max_campaigns": 100,
    "max_batch": 10,
    "max_waiting": 10,
    "max_body_bytes": 1000,
    "max_versions": 3,
    "requests_per_s": 5.0,
    "shadow_rows": 10,
}
# What a file may say: no secrets.
PLAIN = {
    "personas": {"set": "s"},
    "budget": {"database_url": None},
    "platform": {"name": "n", "account": "a", "google_ads": {"customer_id": "1234567890", "certificate": "c"}},
    "alerts": {"first": {"webhook": None, "email": None}},
    "api": {"host": "localhost", "port": 80, "token": None},
    "gateway": GATEWAY | {"token": None, "admin_token": None},
}
BUDGET = {
    "database_url": None,
    "rules": "r",
    "signals": "s",
    "plan": None,
    "conversion_value_micros": 5,
    "loss_cap_micros": 6,
    "bid_change_percent": 50,
    "campaigns": {"c": {"conversion_value_micros": 7, "loss_cap_micros": None}},
}
GOOGLE_ADS = {
    "customer_id": "1234567890",
    "login_customer_id": None,
    "endpoint": "localhost:1",
    "certificate": "c",
    "deadline_seconds": 15.0,
    "calls_per_second": 10.0,
    "developer_token": None,
    "client_id": None,
    "client_secret": None,
    "refresh_token": None,
}
META_ADS = {
    "account_id": "1",
    "page_id": "2",
    "countries": ["US"],
    "business_id": None,
    "endpoint": "localhost:1",
    "certificate": "c",
    "deadline_seconds": 15.0,
    "calls_per_second": 10.0,
    "access_token": None,
    "app_secret": None,
}
VALUES = {
    "home": "h",
    "run": {"name": "n", "seed": 1, "until": None},
    "logging": {"level": "info", "format": "auto"},
    "market": {"name": "cal"},
    "objective": {"kind": "target_roas", "target_roas": 2.0, "target_cpa_micros": None},
    "personas": {
        "set": "s",
        "llm": {
            "endpoint": "http://h/v1",
            "model": "m",
            "api_key": None,
            "timeout_seconds": 2.5,
            "retries": 1,
            "requests_max": 3,
        },
    },
    "evaluation": {"episodes": 10, "seed": 2},
    "training": {"agent": "a", "rounds": None, "curriculum": None, "threads": 1, "tracking": True},
    "storage": {
        "backend": "bigquery",
        "project": "p",
        "dataset": "d",
        "raw_retention_days": 3,
        "max_bytes_billed": 4,
    },
    "history": {
        "sources": ["s"],
        "name": None,
        "zone": None,
        "synthesize": {"weeks": 4, "campaigns": 3, "bid_log_sd": 0.4, "seed": None, "world": "w"},
        "splits": {
            "calibration_share": 0.4,
            "validation_share": 0.2,
            "gap_days": 1,
            "calibration_days_min": 7,
            "validation_days_min": 7,
            "sealed_days_min": 7,
            "held_out_share": 0.0,
            "held_out_key": "k",
        },
        "reach": 1.5,
        "copies": 8,
        "draws": 20,
        "replicates": 100,
    },
    "pilot": {
        "local": False,
        "adverts": None,
        "campaigns": 3,
        "daily_micros": 20_000_000,
        "days": 14,
        "settle_days": 7,
        "shadow_days": 2,
        "bid_change_worth": 0.05,
        "calls_a_day": 100,
        "loss_cap_micros": None,
    },
    "scale": {
        "daily_micros": None,
        "step_days": 4,
        "days": 60,
        "full_days": 4,
        "settle_days": 7,
        "mature_days": 7,
        "decide_hours": 1,
        "raise_percent": 20,
        "raised_daily_micros": None,
        "loss_cap_micros": None,
        "rules": "release",
        "transfer": {"products": 16, "campaigns": 128, "fine_tune_rounds": 0},
    },
    "gateway": GATEWAY,
    "gate": {"remind_hours": 1.0, "expire_hours": 100.0, "source": "project", "files": {"pilot": "p"}},
    "approvals": {"policy": "p", "trust": None},
    "budget": BUDGET,
    "platform": {"name": "n", "account": "a", "google_ads": GOOGLE_ADS, "meta_ads": META_ADS},
    "alerts": {
        "first": CHANNELS,
        "second": CHANNELS,
        "policy": {
            "repeat_after_minutes": 9.0,
            "rate_window_minutes": 9.0,
            "rate_limit": 9,
            "escalate_after_minutes": 9.0,
        },
    },
    "api": {"host": "localhost", "port": 80, "token": "t"},
}
WORDS = st.text(string.ascii_letters + string.digits, min_size=1, max_size=8)
SEEDS = st.integers(0, 2**32 - 1)
COUNTS = st.integers(1, 1_000_000)
PORTS = st.integers(1, 65_535)
TIMES = st.floats(0.01, 30)
ADDRESSES = WORDS.map("{}@h".format)
OF_CHANNELS = {
    "webhook.url": WORDS,
    "webhook.timeout_seconds": TIMES,
    "webhook.attempts": st.integers(1, 10),
    "webhook.wait_seconds": TIMES,
    "email.host": WORDS,
    "email.port": PORTS,
    "email.sender": ADDRESSES,
    "email.recipients": st.lists(ADDRESSES, min_size=1, max_size=3),
    "email.starttls": st.just(True),  # off it goes with no login
    "email.user": WORDS,
    "email.password": WORDS,
    "email.timeout_seconds": TIMES,
}
# One entry for each leaf: a new setting without one fails the test below.
ALLOWED = {
    "home": WORDS,
    "run.name": WORDS,
    "run.seed": SEEDS,
    "logging.level": st.sampled_from(["debug", "info", "warning", "error"]),
    "logging.format": st.sampled_from(["auto", "human", "json"]),
    "market.name": WORDS,
    "objective.kind": st.just("target_roas"),  # another kind goes with another target
    "objective.target_roas": st.floats(0.01, 1e6),
    "objective.target_cpa_micros": st.none(),
    "personas.set": WORDS,
    "personas.llm.endpoint": WORDS.map("http://h/{}".format),
    "personas.llm.model": WORDS,
    "personas.llm.api_key": st.none() | WORDS,
    "personas.llm.timeout_seconds": st.floats(1e-9, 600),
    "personas.llm.retries": st.integers(0, 20),
    "personas.llm.requests_max": COUNTS,
    "evaluation.episodes": st.integers(2, 1_000_000),
    "evaluation.seed": SEEDS,
    "training.agent": WORDS,
    "training.rounds": st.none() | COUNTS,
    "training.curriculum": st.none() | WORDS,
    "training.threads": st.integers(1, 64),
    "storage.backend": st.sampled_from(["duckdb", "bigquery"]),
    "storage.project": st.sampled_from(["p", "q", "another-project"]),
    "storage.dataset": st.text(string.ascii_lowercase, min_size=1, max_size=8),
    "storage.raw_retention_days": st.integers(1, 36_500),
    "storage.max_bytes_billed": st.integers(1, 2**63 - 1),
    "training.tracking": st.booleans(),
    "run.until": st.none() | st.sampled_from(["simulation", "history"]),
    "history.sources": st.lists(WORDS, max_size=3),
    "history.name": st.none() | WORDS,
    "history.zone": st.none() | WORDS,
    "history.synthesize.weeks": st.integers(1, 104),
    "history.synthesize.campaigns": st.integers(1, 200),
    "history.synthesize.bid_log_sd": st.floats(0.01, 1.5),
    "history.synthesize.seed": st.none() | SEEDS,
    "history.synthesize.world": WORDS,
    "history.splits.calibration_share": st.floats(0.1, 0.7),
    "history.splits.validation_share": st.floats(0.1, 0.5),
    "history.splits.gap_days": st.integers(0, 60),
    "history.splits.calibration_days_min": COUNTS,
    "history.splits.validation_days_min": COUNTS,
    "history.splits.sealed_days_min": COUNTS,
    "history.splits.held_out_share": st.floats(0, 0.9),
    "history.splits.held_out_key": WORDS,
    "history.reach": st.floats(1.1, 4),
    "history.copies": st.integers(1, 1000),
    "history.draws": st.integers(20, 1000),
    "history.replicates": st.integers(100, 100_000),
    "pilot.local": st.booleans(),
    "pilot.adverts": st.none() | WORDS,
    "pilot.campaigns": st.integers(1, 500),
    "pilot.daily_micros": st.integers(10_000_000, 50_000_000),
    "pilot.days": st.integers(1, 60),
    "pilot.settle_days": st.integers(0, 30),
    "pilot.shadow_days": st.integers(1, 14),
    "pilot.bid_change_worth": st.floats(0, 0.5),
    "pilot.calls_a_day": COUNTS,
    "pilot.loss_cap_micros": st.none() | COUNTS,
    "scale.daily_micros": st.none() | COUNTS,
    "scale.rules": WORDS,
    "scale.step_days": st.integers(1, 60),
    "scale.days": st.integers(1, 365),
    "scale.full_days": st.integers(1, 60),
    "scale.settle_days": st.integers(0, 30),
    "scale.mature_days": st.integers(0, 30),
    "scale.decide_hours": st.sampled_from([1, 2, 3, 4, 6, 8, 12]),
    "scale.raise_percent": st.integers(0, 100),
    "scale.raised_daily_micros": st.none() | COUNTS,
    "scale.loss_cap_micros": st.none() | COUNTS,
    "scale.transfer.products": st.integers(2, 200),
    "scale.transfer.campaigns": st.integers(2, 10_000),
    "scale.transfer.fine_tune_rounds": st.integers(0, 10_000),
    "gate.remind_hours": st.floats(0.5, 99.0),
    "gate.expire_hours": st.floats(2.0, 1000.0),
    "gate.source": st.sampled_from(["shipped", "project"]),
    "gate.files": st.dictionaries(st.sampled_from(["pilot", "scale"]), WORDS, max_size=2),
    "approvals.policy": WORDS,
    "approvals.trust": st.none() | WORDS,
    "budget.database_url": st.none() | WORDS.map("postgresql://{}".format),
    "budget.rules": WORDS,
    "budget.signals": WORDS,
    "budget.plan": st.none() | WORDS,
    "budget.conversion_value_micros": st.none() | COUNTS,
    "budget.loss_cap_micros": st.none() | COUNTS,
    "budget.bid_change_percent": st.integers(1, 900),
    "budget.campaigns": st.dictionaries(
        WORDS, st.fixed_dictionaries({"conversion_value_micros": COUNTS, "loss_cap_micros": COUNTS}), max_size=2
    ),
    "platform.name": st.sampled_from(["n", "google-ads", "meta-ads"]),
    "platform.account": WORDS,
    **{
        f"platform.google_ads.{name}": st.none() | WORDS
        for name in ("developer_token", "client_id", "client_secret", "refresh_token")
    },
    "platform.google_ads.customer_id": st.integers(10**9, 10**10 - 1).map(str),
    "platform.google_ads.login_customer_id": st.integers(10**9, 10**10 - 1).map(str),
    "platform.google_ads.endpoint": WORDS,
    "platform.google_ads.certificate": WORDS,
    "platform.google_ads.deadline_seconds": TIMES,
    "platform.google_ads.calls_per_second": TIMES,
    **{f"platform.meta_ads.{name}": st.none() | WORDS for name in ("access_token", "app_secret")},
    **{
        f"platform.meta_ads.{name}": st.integers(1, 10**15).map(str)
        for name in ("account_id", "page_id", "business_id")
    },
    "platform.meta_ads.countries": st.lists(st.sampled_from(["US", "DE", "JP"]), min_size=1, max_size=3),
    "platform.meta_ads.endpoint": WORDS,
    "platform.meta_ads.certificate": WORDS,
    "platform.meta_ads.deadline_seconds": TIMES,
    "platform.meta_ads.calls_per_second": TIMES,
    **{f"alerts.{circle}.{key}": values for circle in ("first", "second") for key, values in OF_CHANNELS.items()},
    "alerts.policy.repeat_after_minutes": TIMES,
    "alerts.policy.rate_window_minutes": TIMES,
    "alerts.policy.rate_limit": COUNTS,
    "alerts.policy.escalate_after_minutes": TIMES,
    "api.host": WORDS,
    "api.port": PORTS,
    "api.token": WORDS,
    "gateway.host": WORDS,
    "gateway.port": PORTS,
    "gateway.token": WORDS,
    "gateway.admin_token": WORDS,
    "gateway.max_campaigns": st.integers(1, 10**6),
    "gateway.max_batch": st.integers(1, 10**5),
    "gateway.max_waiting": COUNTS,
    "gateway.max_body_bytes": COUNTS,
    "gateway.max_versions": st.integers(2, 50),
    "gateway.requests_per_s": TIMES,
    "gateway.shadow_rows": COUNTS,
}
SECRETS = {".".join(path) for path in secret_keys(Settings)}


def with_value(key, value):
    values = copy.deepcopy(VALUES)
    *sections, last = key.split(".")
    section = values
    for name in sections:
        section = section[name]
    section[last] = value
    return Settings.model_validate_json(json.dumps(values), strict=True)


def shuffled(values, random):
    if not isinstance(values, dict):
        return values
    keys = list(values)
    random.shuffle(keys)
    return {key: shuffled(values[key], random) for key in keys}


def test_every_setting_is_covered():
    assert set(ALLOWED) == {".".join(path) for path in leaf_keys(Settings)}


@pytest.mark.parametrize("key", ALLOWED)
@settings(max_examples=40)
@given(data=st.data())
def test_the_hash_differs_if_and_only_if_a_value_does(key, data):
    one, other = data.draw(ALLOWED[key]), data.draw(ALLOWED[key])
    equal = (one is None) == (other is None) if key in SECRETS else one == other
    assert (fingerprint(with_value(key, one)) == fingerprint(with_value(key, other))) == equal


@settings(max_examples=25)
@given(random=st.randoms(use_true_random=False), flow=st.sampled_from([None, True, False]), indent=st.integers(2, 8))
def test_order_and_formatting_do_not_change_the_hash(tmp_path_factory, random, flow, indent):
    plain = VALUES | PLAIN
    folder = tmp_path_factory.mktemp("configs")
    hashes = set()
    for number, values in enumerate([plain, shuffled(plain, random)]):
        path = folder / f"{number}.yaml"
        path.write_text(
            yaml.safe_dump(values, sort_keys=False, default_flow_style=flow if number else False, indent=indent)
        )
        hashes.add(load_settings(path, environ={}).hash)
    assert len(hashes) == 1


def test_how_a_value_was_given_does_not_change_the_hash(tmp_path):
    path = tmp_path / "my.yaml"
    path.write_text("# a comment\nrun:\n    seed:    12   # another\n")
    by_file = load_settings(path, environ={}).hash
    assert by_file == load_settings(environ={"GAELP__RUN__SEED": "12"}).hash
    assert by_file == load_settings(overrides=["run.seed=12"], environ={}).hash
    assert by_file != load_settings(environ={}).hash


def test_a_whole_number_and_the_same_decimal_are_one_value():
    key = "personas.llm.timeout_seconds"
    assert fingerprint(with_value(key, 2)) == fingerprint(with_value(key, 2.0))


class Small(Frozen):
    b: float
    a: str
    token: SecretStr | None = None


def test_the_hash_is_that_of_the_sorted_json():
    expected = hashlib.sha256(b'{"a":"\\u00e9","b":1.0,"token":"**********"}').hexdigest()
    assert fingerprint(Small(b=1, a="é", token=SecretStr("sk-planted"))) == expected
