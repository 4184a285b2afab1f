"""Requests drawn from the gateway's own description, and broken ones: no answer is a 500 or a leak."""

import copy
import json
import re
import sys
from collections import Counter

import hypothesis
import pytest
import schemathesis
from hypothesis import strategies

TOKEN, ADMIN = "planted-caller-token", "planted-operator-token"
LEAKS = re.compile(rf'{TOKEN}|{ADMIN}|Traceback|File "|\.py\b|/home/|/tmp/|/work/|site-packages|0x[0-9a-f]{{8}}')
KNOWN = {200, 201, 400, 401, 403, 404, 405, 409, 413, 415, 421, 422, 429, 503}
FEW, MANY = 60, 20_000


def sent_by_schema(gateway, names, count):
    """Requests by operation; campaigns are named so that some are known."""
    document = gateway.app.openapi()
    schema = schemathesis.openapi.from_dict(document)
    operations = [result.ok() for result in schema.get_all_operations()]
    answers = []
    settings = hypothesis.settings(
        max_examples=max(count // len(operations), 1),
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
        derandomize=count == FEW,
    )
    for operation in operations:

        @settings
        @hypothesis.given(
            case=operation.as_strategy(), token=strategies.sampled_from([TOKEN, ADMIN, ADMIN, ADMIN, "no"])
        )
        def ask(case, token):
            options = case.as_transport_kwargs(base_url="http://localhost")
            headers = {**dict(options.pop("headers", None) or {}), "Authorization": f"Bearer {token}"}
            headers = {name: value for name, value in headers.items() if value.isascii()}
            method, url = options.pop("method"), options.pop("url")
            if "data" in options:
                options["content"] = options.pop("data")
            options = {key: value for key, value in options.items() if key in {"json", "content", "params"}}
            answers.append(gateway.client(method, url, headers=headers, **options))

        ask()
    return answers


def sent_mutated(gateway, asking, count):
    """Valid requests with one thing changed: what gets past the form has to be decided or refused."""
    answers = []
    odd = [None, -1, 0, 1, 2**31, 2**63, 1e300, 0.5, "x", "", [], {}, [[]], True, "../../etc/passwd", "\ud800"]

    @hypothesis.settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
        derandomize=count == FEW,
    )
    @hypothesis.given(data=strategies.data())
    def ask(data):
        path = data.draw(strategies.sampled_from(["/decisions", "/campaigns"]))
        body = json.loads(
            json.dumps(
                asking.brief if path == "/campaigns" else asking.observation(data.draw(strategies.integers(0, 9)))
            )
        )
        for _ in range(data.draw(strategies.integers(0, 2))):
            key = data.draw(strategies.sampled_from(sorted(body)))
            where = body[key] if isinstance(body[key], list) and body[key] else [0]
            place = data.draw(strategies.integers(0, len(where) - 1))
            if isinstance(where[place], list) and where[place]:
                where, place = where[place], data.draw(strategies.integers(0, len(where[place]) - 1))
            where[place] = copy.deepcopy(data.draw(strategies.sampled_from(odd)))
        content = json.dumps(body).encode()
        cut = data.draw(strategies.sampled_from([None, None, None, len(content) // 2]))
        form = data.draw(
            strategies.sampled_from(["application/json"] * 6 + ["text/plain", "application/vnd.apache.arrow.stream"])
        )
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": form}
        answers.append(
            gateway.client("PUT" if path == "/campaigns" else "POST", path, content=content[:cut], headers=headers)
        )

    ask()
    return answers


def fuzzed(make_gateway, asking, names, count):
    environ = {"GAELP__GATEWAY__TOKEN": TOKEN, "GAELP__GATEWAY__ADMIN_TOKEN": ADMIN}
    gateway = make_gateway("gateway.requests_per_s=1000000", allowed=(1, 3), environ=environ)
    caller = {"Authorization": f"Bearer {TOKEN}"}
    assert gateway.client.put("/campaigns", json=asking.brief, headers=caller).status_code == 200
    answers = sent_by_schema(gateway, names, count // 2) + sent_mutated(gateway, asking, count - count // 2)
    assert [answer.text for answer in answers if answer.status_code not in KNOWN] == []
    assert [answer.text for answer in answers if LEAKS.search(answer.text)] == []
    gateway.client.put("/campaigns", json=asking.brief, headers=caller)
    statuses = {answer.status_code for answer in answers}
    assert {200, 401, 422} <= statuses
    assert gateway.client.get("/health").status_code == 200
    return answers


def test_no_request_of_some_brings_a_failure_or_a_leak(make_gateway, asking, names):
    assert len(fuzzed(make_gateway, asking, names, FEW)) >= FEW // 2


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_no_request_of_twenty_thousand_brings_a_failure_or_a_leak(make_gateway, asking, names):
    answers = []
    while len(answers) < MANY:  # hypothesis ends early where a description allows few different requests
        answers += fuzzed(make_gateway, asking, names, MANY - len(answers) + 500)
        counts = Counter(answer.status_code for answer in answers)
        sys.stdout.write(f"{len(answers)} requests: {dict(sorted(counts.items()))}\n")
