"""The rating source over real HTTP, against a server on loopback whose answers each test scripts."""

import contextlib
import json
import logging
import math
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.config.rating_service import RatingService
from gaelp.errors import ComponentMissing, ConfigError
from gaelp.market.persona_ratings import affinity_of_score, rated_persona_table
from gaelp.market.persona_spec import PersonaSet, load_creatives, load_personas
from gaelp.market.personas import persona_table

CONFIGS = Path(__file__).parents[2] / "configs"
CREATIVES = load_creatives(CONFIGS / "library" / "creatives.yaml")
PERSONAS = PersonaSet(personas=load_personas(CONFIGS / "personas", CREATIVES).personas[:3])
GOOD = {name: float(index + 2) for index, name in enumerate(CREATIVES.names)}
KEY = "key-nobody-may-see-4711"


def completion(content):
    return json.dumps({"id": "x", "choices": [{"index": 0, "message": {"role": "assistant", "content": content}}]})


def scored(scores):
    return completion(json.dumps({"scores": scores}))


class Endpoint:
    """A chat-completions server: answers (status, body, headers, delay seconds) from a script, then good ones."""

    def __init__(self):
        self.script, self.requests, self.released = [], [], threading.Event()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                endpoint.requests.append((self.path, dict(self.headers), json.loads(body)))
                answer = endpoint.script.pop(0) if endpoint.script else {}
                endpoint.released.wait(answer.get("delay", 0))
                # The client may have gone: that is what a timeout looks like from here.
                with contextlib.suppress(ConnectionError):
                    self.answer(**answer)

            def answer(self, status=200, body=None, headers=(), delay=0, drip=0):
                content = (scored(GOOD) if body is None else body).encode()
                self.send_response(status)
                for name, value in {"Content-Length": str(len(content)), **dict(headers)}.items():
                    self.send_header(name, value)
                self.end_headers()
                for byte in content[:50] if drip else ():
                    self.wfile.write(bytes([byte]))
                    endpoint.released.wait(drip)
                self.wfile.write(content[50:] if drip else content)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server.server_port}/v1"

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def endpoint(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    server = Endpoint()
    yield server
    server.close()


@pytest.fixture
def rate(endpoint, tmp_path):
    """Rate with the given settings; waits between retries are recorded in rate.waits, not slept."""

    def run(personas=PERSONAS, **settings):
        settings = {"endpoint": endpoint.address, "model": "rater-1", "api_key": KEY, "retries": 3} | settings
        place = settings.pop("cache_folder", tmp_path / "cache")
        service = RatingService(**settings)
        rng = np.random.default_rng(1)
        return rated_persona_table(personas, CREATIVES, service, cache_folder=place, rng=rng, sleep=run.waits.append)

    run.waits = []
    run.cache = tmp_path / "cache"
    return run


ONE = PersonaSet(personas=PERSONAS.personas[:1])
GOOD_LOG = [math.log(2) * (score - 5) / 5 for score in GOOD.values()]


def test_good_answers_become_affinities_and_change_nothing_else(rate, endpoint):
    table = rate()
    own = persona_table(PERSONAS, CREATIVES)
    assert len(endpoint.requests) == len(PERSONAS.personas)
    assert table.affinity_log == pytest.approx(np.tile(GOOD_LOG, (3, 1)), abs=1e-6)
    assert (table.click_log == own.click_log).all()
    assert (table.activity == own.activity).all()
    assert not (table.affinity_log == own.affinity_log).any()


def test_request_asks_for_json_from_the_model_with_the_key_and_every_creative(rate, endpoint):
    rate(ONE)
    [(path, headers, body)] = endpoint.requests
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert body["model"] == "rater-1"
    assert body["response_format"] == {"type": "json_object"}
    prompt = body["messages"][-1]["content"]
    assert ONE.personas[0].description in prompt
    assert all(creative.headline in prompt and creative.name in prompt for creative in CREATIVES.creatives)


def test_prompt_does_not_tell_the_personas_own_affinities(rate, endpoint):
    rate(ONE)
    assert "affinity" not in json.dumps(endpoint.requests[0][2])


def test_without_a_key_no_authorization_is_sent(rate, endpoint):
    rate(ONE, api_key=None)
    assert "Authorization" not in endpoint.requests[0][1]


@given(score=st.floats(min_value=0, max_value=10))
def test_scores_map_to_multipliers_between_a_half_and_two(score):
    assert 0.5 <= affinity_of_score(score) <= 2
    assert affinity_of_score(score) * affinity_of_score(10 - score) == pytest.approx(1)


def test_middle_score_is_an_average_response():
    assert [affinity_of_score(score) for score in (0, 5, 10)] == [0.5, 1, 2]


BAD_ANSWERS = {
    "server error": {"status": 500, "body": "overloaded"},
    "gateway error": {"status": 503, "body": ""},
    "too many requests": {"status": 429, "body": "slow down"},
    "no JSON": {"body": "<html>"},
    "no completion": {"body": json.dumps({"choices": []})},
    "no content": {"body": completion(None)},
    "content is no JSON": {"body": completion("Sure! Here are the scores")},
    "content in a fence": {"body": completion('```json\n{"scores": {}}\n```')},
    "missing creative": {"body": scored(dict.fromkeys(CREATIVES.names[1:], 5))},
    "unknown creative": {"body": scored(GOOD | {"other": 5})},
    "score too high": {"body": scored(GOOD | {CREATIVES.names[0]: 99})},
    "score negative": {"body": scored(GOOD | {CREATIVES.names[0]: -1})},
    "score is text": {"body": scored(GOOD | {CREATIVES.names[0]: "7"})},
    "score is true": {"body": scored(GOOD | {CREATIVES.names[0]: True})},
    "score is NaN": {"body": scored(GOOD | {CREATIVES.names[0]: math.nan})},
    "wrong schema": {"body": completion(json.dumps([{"name": "a", "score": 5}]))},
    "extra field": {"body": completion(json.dumps({"scores": GOOD, "why": "because"}))},
    "flat schema": {"body": completion(json.dumps(GOOD))},
    "too large": {"body": scored(GOOD) + " " * 1_000_001},
    "cut off": {"headers": {"Content-Length": "100000"}},
}


@pytest.mark.parametrize("answer", BAD_ANSWERS.values(), ids=BAD_ANSWERS)
def test_bad_answer_is_asked_again_and_the_good_one_is_used(rate, endpoint, answer):
    endpoint.script = [answer]
    assert rate(ONE).affinity_log[0] == pytest.approx(GOOD_LOG, abs=1e-6)
    assert len(endpoint.requests) == 2
    assert len(rate.waits) == 1


@pytest.mark.parametrize("answer", BAD_ANSWERS.values(), ids=BAD_ANSWERS)
def test_answers_that_stay_bad_end_in_an_error_that_says_what_to_do_and_cache_nothing(rate, endpoint, answer):
    endpoint.script = [answer] * 3
    with pytest.raises(ComponentMissing, match=r"Check endpoint.*or use the personas' own creative_affinity") as caught:
        rate(ONE, retries=2)
    assert caught.value.exit_code == 1
    assert ONE.personas[0].name in str(caught.value)
    assert endpoint.address in str(caught.value)
    assert len(endpoint.requests) == 3
    assert not list(rate.cache.iterdir())


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        ("server error", "HTTP 500: overloaded"),
        ("missing creative", rf"missing \['{CREATIVES.names[0]}'\]"),
        ("unknown creative", r"unknown \['other'\]"),
        ("score too high", rf"{CREATIVES.names[0]}: Input should be less than or equal to 10"),
        ("content is no JSON", "Invalid JSON"),
        ("no completion", "not a chat completion"),
    ],
)
def test_error_names_what_was_seen(rate, endpoint, answer, seen):
    endpoint.script = [BAD_ANSWERS[answer]]
    with pytest.raises(ComponentMissing, match=seen):
        rate(ONE, retries=0)


def test_slow_answer_beyond_the_timeout_is_given_up_and_asked_again(rate, endpoint):
    endpoint.script = [{"delay": 20}]
    started = time.monotonic()
    rate(ONE, timeout_seconds=0.3)
    assert time.monotonic() - started < 5
    assert len(endpoint.requests) == 2


def test_answer_that_drips_in_is_given_up_although_every_byte_is_in_time(rate, endpoint):
    endpoint.script = [{"drip": 0.1}]
    started = time.monotonic()
    with pytest.raises(ComponentMissing, match=r"no complete answer within 0\.5 s"):
        rate(ONE, timeout_seconds=0.5, retries=0)
    assert time.monotonic() - started < 3


def test_endpoint_that_is_not_there_is_told(rate, endpoint):
    with pytest.raises(ComponentMissing, match="ConnectError"):
        rate(ONE, endpoint="http://127.0.0.1:1/v1", retries=1)
    assert len(rate.waits) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 301])
def test_refusal_that_cannot_pass_is_not_asked_again(rate, endpoint, status):
    endpoint.script = [{"status": status, "body": "no", "headers": {"Location": endpoint.address}}]
    with pytest.raises(ComponentMissing, match=f"HTTP {status}"):
        rate(ONE)
    assert len(endpoint.requests) == 1
    assert rate.waits == []


def test_waits_double_with_jitter_and_stay_bounded(rate, endpoint):
    endpoint.script = [{"status": 500}] * 12
    rate(ONE, retries=12)
    assert len(rate.waits) == 12
    for attempt, seconds in enumerate(rate.waits):
        assert min(0.25 * 2**attempt, 60) <= seconds <= min(0.75 * 2**attempt, 60)
    assert len({round(seconds / 2**attempt, 6) for attempt, seconds in enumerate(rate.waits[:6])}) == 6


@pytest.mark.parametrize(("header", "seconds"), [("7", 7), ("86400", 60), ("9" * 400, 60)])
def test_retry_after_is_obeyed_up_to_a_minute(rate, endpoint, header, seconds):
    endpoint.script = [{"status": 429, "headers": {"Retry-After": header}}]
    rate(ONE)
    assert rate.waits == [seconds]


@pytest.mark.parametrize("header", ["Wed, 21 Oct 2026 07:28:00 GMT", "-5", "nan", "inf", ""])
def test_retry_after_that_is_no_number_of_seconds_leaves_the_backoff(rate, endpoint, header):
    endpoint.script = [{"status": 429, "headers": {"Retry-After": header}}]
    rate(ONE)
    assert 0.25 <= rate.waits[0] <= 0.75


def test_requests_of_a_run_are_bounded_and_a_second_run_goes_on(rate, endpoint):
    with pytest.raises(ComponentMissing, match="requests_max=2 requests have been made"):
        rate(requests_max=2)
    assert len(endpoint.requests) == 2
    rate(requests_max=2)
    assert len(endpoint.requests) == 3


def test_retries_count_as_requests_and_no_wait_is_made_for_a_request_that_may_not_follow(rate, endpoint):
    endpoint.script = [{"status": 500, "body": "overloaded"}] * 9
    with pytest.raises(ComponentMissing, match=r"requests_max=2.*the last one failed: HTTP 500: overloaded"):
        rate(requests_max=2, retries=5)
    assert len(endpoint.requests) == 2
    assert len(rate.waits) == 1


def test_cache_hit_makes_no_request_and_gives_the_same_table(rate, endpoint):
    first = rate()
    endpoint.requests.clear()
    second = rate(requests_max=1, api_key=None)
    assert endpoint.requests == []
    assert (first.affinity_log == second.affinity_log).all()


def test_another_model_or_another_persona_text_is_asked_anew(rate, endpoint):
    rate(ONE)
    rate(ONE, model="rater-2")
    assert len(endpoint.requests) == 2
    changed = ONE.personas[0].model_copy(update={"description": "Somebody else."})
    rate(PersonaSet(personas=(changed,)))
    assert len(endpoint.requests) == 3


def raised_score(text):
    entry = json.loads(text)
    entry["scores"][CREATIVES.names[0]] = 9.5
    return json.dumps(entry)


@pytest.mark.parametrize(
    "damage",
    [lambda text: "", lambda text: text[: len(text) // 2], lambda text: "{}", lambda text: "\0" * 50, raised_score],
    ids=["empty", "half", "no fields", "zeros", "changed score"],
)
def test_damaged_cache_entry_is_refused_with_a_warning_and_fetched_anew(rate, endpoint, damage, caplog):
    first = rate(ONE)
    [entry] = rate.cache.iterdir()
    entry.write_text(damage(entry.read_text()))
    second = rate(ONE)
    assert len(endpoint.requests) == 2
    assert (first.affinity_log == second.affinity_log).all()
    [warning] = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert entry.name in warning.getMessage()
    rate(ONE)
    assert len(endpoint.requests) == 2


def test_cache_entry_of_another_prompt_is_refused(rate, endpoint, caplog):
    rate()
    first, second, _ = sorted(rate.cache.iterdir())
    first.write_bytes(second.read_bytes())
    rate()
    assert len(endpoint.requests) == 4
    assert "digest" in caplog.text


def test_no_half_written_file_is_left_in_the_cache(rate):
    rate()
    assert sorted(path.suffix for path in rate.cache.iterdir()) == [".json"] * 3


def test_cache_folder_that_cannot_be_used_is_told_before_anything_is_asked(rate, endpoint):
    rate.cache.write_text("a file")
    with pytest.raises(ConfigError, match="cache_folder"):
        rate(ONE)
    assert endpoint.requests == []


@pytest.mark.parametrize(
    "answer",
    [
        {"status": 500, "body": f"bad key {KEY}"},
        {"status": 400, "body": "x" * 190 + KEY},
        {"status": 401, "body": f"Incorrect key: {KEY[:8]}***{KEY[-4:]}"},
        {"body": completion(KEY)},
        {"body": scored(GOOD | {KEY: 5})},
        {"body": completion(json.dumps({"scores": {KEY: "x"}}))},
        {"body": KEY},
    ],
)
def test_key_stands_in_no_message_no_log_and_no_file_even_if_the_endpoint_echoes_it(rate, endpoint, answer, caplog):
    caplog.set_level(logging.DEBUG)
    endpoint.script = [answer] * 2
    with pytest.raises(ComponentMissing) as caught:
        rate(ONE, retries=1)
    endpoint.script.clear()
    rate()
    shown = [caplog.text, str(caught.value), repr(caught.value.__cause__), *map(repr, caught.value.args)]
    shown += [path.read_text() for path in rate.cache.iterdir()]
    assert endpoint.requests[0][1]["Authorization"].endswith(KEY)
    assert not [text for text in shown if KEY in text or KEY[:8] in text]


def test_control_characters_of_an_answer_do_not_reach_the_message(rate, endpoint):
    endpoint.script = [{"status": 400, "body": "bad\x1b[2J\nrequest"}]
    with pytest.raises(ComponentMissing) as caught:
        rate(ONE)
    assert str(caught.value).isprintable()


def test_key_over_plain_http_to_another_machine_is_warned_of(rate, caplog):
    rate(ONE)
    assert "unencrypted" not in caplog.text
    rate(ONE, endpoint="https://host.invalid/v1")
    rate(ONE, endpoint="http://host.invalid/v1", api_key=None)
    assert "unencrypted" not in caplog.text
    rate(ONE, endpoint="http://host.invalid/v1")
    assert "unencrypted" in caplog.text
