"""A second source of creative affinities: a language model rates every persona x creative once, before training."""

import json
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import httpx
import numpy as np
from pydantic import BaseModel, Field, ValidationError

from gaelp.config.base import Frozen
from gaelp.config.loopback import is_loopback
from gaelp.config.rating_service import RatingService
from gaelp.errors import ComponentMissing
from gaelp.market.persona_spec import CreativeSet, Persona, PersonaSet
from gaelp.market.personas import PersonaTable, persona_table
from gaelp.market.ratings_cache import RatingsCache, prompt_hash

__all__ = ["affinity_of_score", "rated_persona_table"]

SCORE_MAX = 10.0
AFFINITY_MAX = 2.0
ANSWER_BYTES_MAX = 1_000_000
EXCERPT_CHARACTERS_MAX = 200
BACKOFF_SECONDS = 0.5
WAIT_SECONDS_MAX = 60.0

_LOG = logging.getLogger(__name__)

_SYSTEM = "You estimate how audiences respond to adverts. Answer with one JSON object and nothing else."
_TASK = (
    "Rate how readily this audience clicks each advert, compared with the adverts it usually sees: "
    "0 far less readily, 5 as readily as usual, 10 far more readily. Decimals are allowed; use the whole scale. "
    'Answer {"scores": {advert name: rating}} with every advert name exactly once.'
)


class _Ratings(Frozen):
    """The answer asked of the model."""

    scores: dict[str, Annotated[float, Field(ge=0, le=SCORE_MAX)]]


class _Message(BaseModel):
    content: str


class _Choice(BaseModel):
    message: _Message


class _Completion(BaseModel):
    """The part of a chat completion that is used; endpoints add fields of their own."""

    choices: list[_Choice] = Field(min_length=1)


class _RequestFailed(Exception):
    """One request gave no usable answer; the reason may quote the endpoint and must be scrubbed before it is shown."""

    def __init__(self, reason: str, *, again: bool = True, wait_seconds: float = 0.0) -> None:
        super().__init__(reason)
        self.again = again
        self.wait_seconds = wait_seconds


def affinity_of_score(score: float) -> float:
    """Click multiplier for a score of 0..10: 0.5 at 0, 1 at 5, 2 at 10, exponential between."""
    return float(AFFINITY_MAX ** (2 * score / SCORE_MAX - 1))


def rated_persona_table(
    personas: PersonaSet,
    creatives: CreativeSet,
    service: RatingService,
    *,
    cache_folder: Path,
    rng: np.random.Generator,
    sleep: Callable[[float], None] = time.sleep,
) -> PersonaTable:
    """The table of `personas` with affinities rated by `service`; everything else is the personas' own.

    Answers come from the cache folder where it has them. `rng` jitters the waits between retries and nothing else.
    """
    table = persona_table(personas, creatives)
    cache = RatingsCache(cache_folder)
    cache.prepare()
    _warn_of_open_key(service)
    with httpx.Client(timeout=service.timeout_seconds, headers=_headers(service)) as client:
        rater = _Rater(service, cache, client, rng, sleep)
        scores = [rater.scores(persona, creatives) for persona in personas.personas]
    affinity = [[affinity_of_score(row[name]) for name in creatives.names] for row in scores]
    return replace(table, affinity_log=np.log(np.array(affinity)).astype(np.float32))


@dataclass(slots=True)
class _Rater:
    """Asks for one persona after the other and counts the requests of the whole run."""

    service: RatingService
    cache: RatingsCache
    client: httpx.Client
    rng: np.random.Generator
    sleep: Callable[[float], None]
    requests: int = 0

    def scores(self, persona: Persona, creatives: CreativeSet) -> dict[str, float]:
        """One score per creative, from the cache or from the endpoint."""
        prompt = _prompt(persona, creatives)
        key = prompt_hash(self.service.model, f"{_SYSTEM}\n\n{prompt}")
        cached = self.cache.load(key)
        if cached is not None:
            try:
                return _checked(json.dumps({"scores": cached}), creatives)
            except _RequestFailed as problem:
                self.cache.reject(key, str(problem))
        scores = self._ask_until_answered(persona.name, prompt, creatives)
        self.cache.store(key, scores)
        return scores

    def _ask_until_answered(self, name: str, prompt: str, creatives: CreativeSet) -> dict[str, float]:
        failure: _RequestFailed | None = None
        for attempt in range(1, self.service.retries + 2):
            self._count_request(name, failure)
            if failure:
                self._wait(attempt, name, failure)
            try:
                return _checked(self._content(prompt), creatives)
            except _RequestFailed as problem:
                failure = problem
            if not failure.again:
                break
        raise self._given_up(name, f"{self._scrubbed(str(failure))} (attempt {attempt})")

    def _count_request(self, name: str, failure: _RequestFailed | None) -> None:
        if self.requests >= self.service.requests_max:
            last = f"; the last one failed: {self._scrubbed(str(failure))}" if failure else ""
            raise self._given_up(name, f"requests_max={self.service.requests_max} requests have been made{last}")
        self.requests += 1

    def _wait(self, attempt: int, name: str, failure: _RequestFailed) -> None:
        # `attempt` is the one about to be made: 2 for the first repetition.
        backoff = BACKOFF_SECONDS * 2 ** (attempt - 2) * self.rng.uniform(0.5, 1.5)
        seconds = min(max(failure.wait_seconds, float(backoff)), WAIT_SECONDS_MAX)
        reason = self._scrubbed(str(failure))
        _LOG.warning("rating of persona %s failed: %s; asking again in %.1f s", name, reason, seconds)
        self.sleep(seconds)

    def _content(self, prompt: str) -> str:
        """The text of the model's answer to one request."""
        try:
            return _Completion.model_validate_json(self._post(prompt)).choices[0].message.content
        except ValidationError as problem:
            raise _RequestFailed(f"the answer is not a chat completion: {_first_error(problem)}") from None

    def _post(self, prompt: str) -> bytes:
        messages = [{"role": "system", "content": _SYSTEM}, {"role": "user", "content": prompt}]
        body = {"model": self.service.model, "messages": messages, "response_format": {"type": "json_object"}}
        deadline = time.monotonic() + self.service.timeout_seconds
        try:
            with self.client.stream("POST", f"{self.service.endpoint}/chat/completions", json=body) as response:
                return _answer(response, deadline)
        except httpx.TimeoutException:
            raise _RequestFailed(f"no complete answer within {self.service.timeout_seconds:g} s") from None
        except httpx.InvalidURL as problem:
            raise _RequestFailed(f"the address cannot be used: {problem}", again=False) from None
        except httpx.HTTPError as problem:
            raise _RequestFailed(f"{type(problem).__name__}: {problem}") from None

    def _scrubbed(self, text: str) -> str:
        """Text fit for a message: without the key, in case the endpoint echoed it, on one line and short."""
        key = self.service.api_key
        clean = text.replace(key.get_secret_value(), "[api_key]") if key else text
        line = "".join(character if character.isprintable() else " " for character in clean)
        return line if len(line) <= EXCERPT_CHARACTERS_MAX else f"{line[:EXCERPT_CHARACTERS_MAX]}…"

    def _given_up(self, name: str, reason: str) -> ComponentMissing:
        return ComponentMissing(
            f"persona {name!r} was not rated by model {self.service.model!r} at {self.service.endpoint}: {reason}."
            " Check endpoint, model, key and limits and run again (answers so far are cached),"
            " or use the personas' own creative_affinity."
        )


def _prompt(persona: Persona, creatives: CreativeSet) -> str:
    audience = {
        "description": persona.description,
        "demographics": persona.demographics.model_dump(),
        "most_active_hours_on_weekdays": _busiest_hours(persona.activity.weekday),
        "most_active_hours_at_weekends": _busiest_hours(persona.activity.weekend),
    }
    adverts = [creative.model_dump() for creative in creatives.creatives]
    return f"{_TASK}\n\nAudience:\n{json.dumps(audience, indent=1)}\n\nAdverts:\n{json.dumps(adverts, indent=1)}"


def _busiest_hours(hours: tuple[float, ...], count: int = 5) -> list[int]:
    return sorted(sorted(range(24), key=lambda hour: -hours[hour])[:count])


def _answer(response: httpx.Response, deadline: float) -> bytes:
    """The body of a good response, bounded in size and in total time; httpx bounds only each read."""
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > ANSWER_BYTES_MAX:
            raise _RequestFailed(f"the answer is larger than {ANSWER_BYTES_MAX:,} bytes")
        if time.monotonic() > deadline:
            raise httpx.ReadTimeout("the answer drips in too slowly")
    if response.is_success:
        return bytes(body)
    status = response.status_code
    # A refusal of the key may quote parts of it, which no replacement would find.
    quoted = "" if status in (401, 403) else f": {body.decode('utf-8', 'replace')}"
    raise _RequestFailed(
        f"HTTP {status}{quoted}",
        again=status in (408, 429) or status >= 500,
        wait_seconds=_retry_after_seconds(response.headers.get("retry-after", "")),
    )


def _retry_after_seconds(header: str) -> float:
    """Seconds asked for by a Retry-After header; 0 for none and for dates, where the backoff has to do."""
    return float(header) if header.isascii() and header.isdigit() else 0.0


def _checked(content: str, creatives: CreativeSet) -> dict[str, float]:
    """Scores that fit the schema and rate exactly the given creatives."""
    try:
        scores = _Ratings.model_validate_json(content, strict=True).scores
    except ValidationError as problem:
        raise _RequestFailed(f"the ratings do not fit the schema: {_first_error(problem)}") from None
    missing = sorted(set(creatives.names) - set(scores))
    unknown = sorted(set(scores) - set(creatives.names))
    if missing or unknown:
        raise _RequestFailed(f"the ratings must name exactly the creatives: missing {missing}, unknown {unknown}")
    return scores


def _first_error(problem: ValidationError) -> str:
    error = problem.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(map(str, error["loc"]))
    return f"{where}: {error['msg']}" if where else error["msg"]


def _headers(service: RatingService) -> dict[str, str]:
    return {"Authorization": f"Bearer {service.api_key.get_secret_value()}"} if service.api_key else {}


def _warn_of_open_key(service: RatingService) -> None:
    parts = urlsplit(service.endpoint)
    if service.api_key and parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        _LOG.warning("the api key for %s travels unencrypted over http; use https", service.endpoint)
