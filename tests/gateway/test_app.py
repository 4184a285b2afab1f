"""What callers and operators of the gateway get: the bids of the policy itself, or a reason."""

import json

import numpy as np
import pyarrow as pa
import pytest

from gaelp.export.exported_policy import policy_maker
from gaelp.export.network_files import run_onnx
from gaelp.gateway.wire import ARROW, rows_of, to_arrow


def put_traffic(gateway, shares, shadow=(), **headers):
    body = {"shares": shares, "shadow": list(shadow), "why": "a test"}
    return gateway.client.put("/admin/traffic", json=body, **headers)


def policy_of(export):
    network = export.files.get("network.onnx")
    return policy_maker(export.manifest, network and run_onnx(network))()


def bids(answer):
    assert answer.status_code == 200, answer.text
    return np.array([row["bid_micros"] for row in answer.json()["decisions"]])


@pytest.mark.parametrize("version", [1, 3])
def test_the_bids_are_those_of_the_policy_hour_after_hour_in_any_company(
    make_gateway, versions, flight, asking, version
):
    gateway = make_gateway(champion=version)
    assert gateway.client.put("/campaigns", json=asking.brief).json() == {"begun": 6, "known": 6}
    policy = policy_of(versions[version])
    policy.begin(flight.brief)
    companies = ([[0, 1, 2, 3, 4, 5]], [[3, 1], [0, 5, 2], [4]], [[0, 1, 2, 3, 4, 5]], [[0, 1, 2, 3, 4, 5]])
    for hour, companies_of_hour in enumerate(companies):
        wanted = policy.act(flight.hours[hour]).bid_micros
        for rows in companies_of_hour:
            answer = gateway.client.post("/decisions", json=asking.observation(hour, rows))
            assert np.array_equal(bids(answer), wanted[rows])
            assert {row["version"] for row in answer.json()["decisions"]} == {version}


def test_arrow_and_json_give_the_same_decisions(gateway, flight, asking, names):
    gateway.client.put("/campaigns", json=asking.brief)
    body = to_arrow(rows_of(flight.hours[0], names))
    answer = gateway.client.post("/decisions", content=body, headers={"Content-Type": ARROW, "Accept": ARROW})
    table = pa.ipc.open_stream(answer.content).read_all()
    flat = table.column("bid_micros").combine_chunks().flatten().to_numpy().reshape(6, -1)
    again = gateway.client.post("/decisions", json=asking.observation(0))
    assert np.array_equal(flat, bids(again))
    assert all(row["repeated"] for row in again.json()["decisions"])


def test_asking_again_for_the_same_hour_repeats_the_answer_and_an_earlier_hour_is_refused(gateway, asking):
    gateway.client.put("/campaigns", json=asking.brief)
    first = gateway.client.post("/decisions", json=asking.observation(2))
    changed = asking.observation(2) | {"left_micros": [1] * 6}
    assert np.array_equal(bids(gateway.client.post("/decisions", json=changed)), bids(first))
    refused = gateway.client.post("/decisions", json=asking.observation(1))
    assert (refused.status_code, "send later hours" in refused.json()["detail"]) == (409, True)


def test_a_campaign_without_a_brief_is_named(gateway, asking):
    answer = gateway.client.post("/decisions", json=asking.observation(0))
    assert answer.status_code == 404
    assert "6 of 6 campaigns are not known, such as 'campaign-0'" in answer.json()["detail"]
    assert gateway.client.delete("/campaigns/nobody").status_code == 404


def test_a_new_brief_begins_a_flight_again_and_the_same_one_does_not(gateway, asking):
    gateway.client.put("/campaigns", json=asking.brief)
    first = bids(gateway.client.post("/decisions", json=asking.observation(0)))
    gateway.client.post("/decisions", json=asking.observation(5))
    assert gateway.client.put("/campaigns", json=asking.brief).json()["begun"] == 0
    assert gateway.client.post("/decisions", json=asking.observation(0)).status_code == 409
    other = asking.brief | {"hours": [hours - 1 for hours in asking.brief["hours"]]}
    assert gateway.client.put("/campaigns", json=other).json()["begun"] == 6
    gateway.client.put("/campaigns", json=asking.brief)
    assert np.array_equal(bids(gateway.client.post("/decisions", json=asking.observation(0))), first)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"hour": [0] * 5}, "hour has shape"),
        ({"pace": [2.0] * 6}, "pace.0"),
        ({"price_level_log": [[0.0] * 3] * 6}, "price_level_log has shape"),
        ({"surprise": 1}, "surprise"),
        ({"campaigns": ["a"] * 6}, "6 campaigns with 1 names"),
        ({"campaigns": ["../etc/passwd"] * 6}, "campaigns.0"),
    ],
)
def test_what_is_wrong_with_a_request_is_said(gateway, asking, change, problem):
    gateway.client.put("/campaigns", json=asking.brief)
    answer = gateway.client.post("/decisions", json=asking.observation(0) | change)
    assert (answer.status_code, problem in answer.json()["detail"]) == (422, True), answer.text


def test_limits_of_size_and_rate_are_kept(make_gateway, asking):
    gateway = make_gateway("gateway.max_body_bytes=20000", "gateway.max_batch=5", "gateway.requests_per_s=4")
    assert gateway.client.post("/decisions", json=asking.observation(0)).status_code == 422
    answer = gateway.client.post("/decisions", content=b" " * 20_001, headers={"Content-Type": "application/json"})
    assert (answer.status_code, "20,000 bytes" in answer.json()["detail"]) == (413, True)
    statuses = [gateway.client.get("/metrics").status_code for _ in range(4)]
    assert 429 in statuses
    assert gateway.client.get("/health").status_code == 200


def test_tokens_separate_callers_from_operators(make_gateway, asking):
    environ = {"GAELP__GATEWAY__TOKEN": "caller-token", "GAELP__GATEWAY__ADMIN_TOKEN": "operator-token"}
    gateway = make_gateway(environ=environ)
    caller, operator = ({"headers": {"Authorization": f"Bearer {environ[name]}"}} for name in environ)
    assert gateway.client.put("/campaigns", json=asking.brief).status_code == 401
    assert gateway.client.put("/campaigns", json=asking.brief, **caller).status_code == 200
    assert put_traffic(gateway, {"1": 100}, **caller).status_code == 401
    assert put_traffic(gateway, {"1": 100}, **operator).status_code == 200
    assert gateway.client.get("/openapi.json").status_code == 401
    assert "operator-token" not in gateway.client.get("/admin/traffic").text
    assert gateway.client.get("/health").status_code == 200


def test_a_web_page_from_elsewhere_cannot_ask_without_a_token(gateway, asking):
    text = json.dumps(asking.brief)
    assert gateway.client.put("/campaigns", content=text, headers={"Content-Type": "text/plain"}).status_code == 415
    assert gateway.client.get("/metrics", headers={"Host": "evil.example"}).status_code == 421


def test_traffic_moves_only_where_the_registry_allows_it_and_the_reason_is_given(make_gateway):
    gateway = make_gateway(allowed=(1, 3))
    assert put_traffic(gateway, {"1": 90, "2": 10}).status_code == 422  # not loaded
    assert gateway.client.post("/admin/models", json={"version": 2}).status_code == 201
    refused = put_traffic(gateway, {"1": 90, "2": 10})
    assert (refused.status_code, refused.json()["detail"]) == (403, "version 2 has no alias")
    assert gateway.client.get("/admin/traffic").json()["traffic"]["shares"] == {"1": 100.0}
    assert put_traffic(gateway, {"1": 100}, shadow=[2]).status_code == 200
    assert put_traffic(gateway, {"1": 60, "3": 30}).status_code == 422
    missing = gateway.client.post("/admin/models", json={"version": 9})
    assert (missing.status_code, missing.json()["detail"]) == (403, "there is no export of version 9")


def test_traffic_is_split_by_campaign_and_survives_a_restart(make_gateway, asking):
    gateway = make_gateway()
    gateway.client.post("/admin/models", json={"version": 2})
    assert put_traffic(gateway, {"1": 50, "2": 50}).status_code == 200
    gateway.client.put("/campaigns", json=asking.brief)
    first = gateway.client.post("/decisions", json=asking.observation(0)).json()["decisions"]
    assert {row["version"] for row in first} == {1, 2}
    again = make_gateway()
    again.client.put("/campaigns", json=asking.brief)
    second = again.client.post("/decisions", json=asking.observation(0)).json()["decisions"]
    assert [row["version"] for row in second] == [row["version"] for row in first]


def test_traffic_that_is_not_allowed_any_more_is_not_resumed(make_gateway):
    gateway = make_gateway()
    gateway.client.post("/admin/models", json={"version": 2})
    put_traffic(gateway, {"2": 100})
    assert make_gateway(allowed=(1,)).admin.now()["traffic"]["shares"] == {1: 100.0}


def test_a_shadow_decides_and_is_recorded_and_changes_no_bid(make_gateway, asking, versions, flight, tmp_path):
    gateway = make_gateway()
    gateway.client.post("/admin/models", json={"version": 3})
    assert put_traffic(gateway, {"1": 100}, shadow=[3]).status_code == 200
    policy = policy_of(versions[1])
    policy.begin(flight.brief)
    gateway.client.put("/campaigns", json=asking.brief)
    for hour in (0, 1):
        answer = gateway.client.post("/decisions", json=asking.observation(hour))
        assert np.array_equal(bids(answer), policy.act(flight.hours[hour]).bid_micros)
    gateway.client.put("/campaigns", json=asking.brief)  # in the same thread, after the shadow
    figures = gateway.client.get("/admin/models/3/metrics").json()
    assert (figures["decisions"], figures["shadow_decisions"]) == (0, 12)
    assert figures["shadow_mean_log_ratio"] != 0
    lines = (tmp_path / "home" / "gateway" / "shadow-3.jsonl").read_text().splitlines()
    rule = policy_of(versions[3])
    rule.begin(flight.brief)
    assert json.loads(lines[2])["shadow_bid_micros"] == rule.act(flight.hours[0]).bid_micros[2].tolist()
    assert len(lines) == 12


class Broken:
    """A version that fails, wholly or for a campaign whose money is gone."""

    def __init__(self, number, version, *, only_without_money=False):
        self.number, self._version, self._only = number, version, only_without_money

    def decide(self, book, rows, obs):
        if not self._only or (obs.left_micros == 0).any():
            raise RuntimeError("planted at /secret/path")
        return self._version.decide(book, rows, obs)


def plant(gateway, number, **options):
    serving = gateway.admin.decider.serving
    serving.versions[number] = Broken(number, serving.versions[number], **options)


def test_where_a_version_fails_the_last_good_one_stands_in_and_it_is_reported(make_gateway, asking, versions, flight):
    gateway = make_gateway()
    gateway.client.post("/admin/models", json={"version": 2})
    put_traffic(gateway, {"2": 100})
    plant(gateway, 2)
    gateway.client.put("/campaigns", json=asking.brief)
    answer = gateway.client.post("/decisions", json=asking.observation(0))
    policy = policy_of(versions[1])
    policy.begin(flight.brief)
    assert np.array_equal(bids(answer), policy.act(flight.hours[0]).bid_micros)
    assert {(row["version"], row["stood_in_for"]) for row in answer.json()["decisions"]} == {(1, 2)}
    assert gateway.client.get("/ready").json() == {"ready": True, "stand_ins": 6}
    assert gateway.client.get("/admin/models/2/metrics").json()["last_error"] == "RuntimeError"
    page = gateway.client.get("/metrics").text
    assert 'gaelp_gateway_stand_ins_total{assigned="2",version="1"} 6.0' in page


def test_only_the_campaigns_that_a_version_fails_for_get_another(make_gateway, asking):
    gateway = make_gateway()
    gateway.client.post("/admin/models", json={"version": 2})
    put_traffic(gateway, {"2": 100})
    plant(gateway, 2, only_without_money=True)
    gateway.client.put("/campaigns", json=asking.brief)
    poor = asking.observation(0)
    poor["left_micros"][4] = 0
    rows = gateway.client.post("/decisions", json=poor).json()["decisions"]
    assert [row["stood_in_for"] for row in rows] == [None, None, None, None, 2, None]


def test_where_nothing_stands_in_the_answer_says_so_without_a_traceback(gateway, asking):
    plant(gateway, 1)
    gateway.client.put("/campaigns", json=asking.brief)
    answer = gateway.client.post("/decisions", json=asking.observation(0))
    assert answer.status_code == 503
    assert "version 1 cannot decide and no other one answers" in answer.json()["detail"]
    assert "secret" not in answer.text
