"""How many people must agree, which ones, and by when: a policy is data in configs/approvals/*.yaml."""

from collections.abc import Callable
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from gaelp.approvals.action import LiveOrSandbox, SignedAction
from gaelp.approvals.field_types import Instant
from gaelp.approvals.trust import AUDITOR
from gaelp.config.base import Frozen
from gaelp.config.load import load_model
from gaelp.config.names import Slug
from gaelp.config.settings import Settings
from gaelp.errors import Refused

__all__ = [
    "LIVE",
    "ApprovalPolicy",
    "ApprovalRequest",
    "RequestFacts",
    "RequestState",
    "load_policy",
    "policy_for",
    "policy_name",
    "stricter",
]

LIVE = "live"  # the policy where real money can move and none other is named

_WHY_MAX = 400

RequestState = Literal["approved", "escalate", "expired", "rejected", "waiting"]


Sentence = Annotated[str, Field(min_length=1, max_length=200)]


class ApprovalPolicy(Frozen):
    """What an action needs before it may be done. Times are whole minutes.

    `known_roles` only limits what `gaelp keys trust` accepts, so it is left out of what is stored and hashed.
    """

    model_config = ConfigDict(strict=True)

    quorum: int = Field(ge=1, le=16, description="how many different people must approve")
    roles: tuple[Slug, ...] = Field(default=(), description="only who has one of these counts; none: everyone trusted")
    known_roles: dict[Slug, Sentence] = Field(
        default={}, exclude=True, description="every role an approver can have, with one sentence on what it is for"
    )
    at_least: dict[Slug, int] = Field(default={}, description="of these roles, so many among those who approve")
    four_eyes: bool = Field(default=True, description="who asks does not count among those who approve")
    sandbox: bool = Field(default=False, description="no real money can move: a name without a signature is accepted")
    valid_minutes_max: int = Field(ge=1, le=43_200, description="the longest time an approval may be valid")
    escalate_after_minutes: int = Field(ge=1, le=525_600, description="then those of escalate_to are alerted")
    expire_after_minutes: int = Field(ge=1, le=525_600, description="then the request is over and a new one is needed")
    escalate_to: tuple[Slug, ...] = Field(default=(), description="roles to alert when a request waits too long")
    skew_seconds: int = Field(default=30, ge=0, le=300, description="by how much the approver's clock may be ahead")
    why: str = Field(min_length=1, max_length=_WHY_MAX)

    @model_validator(mode="after")
    def _can_be_met(self) -> Self:
        for role, count in self.at_least.items():
            if not 1 <= count <= self.quorum:
                raise ValueError(f"at_least.{role}={count}; allowed: 1 to quorum={self.quorum}")
            if self.roles and role not in self.roles:
                raise ValueError(f"at_least asks for {role}, which roles leaves out: add it there")
        if self.escalate_after_minutes >= self.expire_after_minutes:
            raise ValueError(
                f"escalate_after_minutes={self.escalate_after_minutes} is not before expire_after_minutes="
                f"{self.expire_after_minutes}: nobody could act on it"
            )
        return self

    @model_validator(mode="after")
    def _knows_the_roles_it_names(self) -> Self:
        for role in (*self.roles, *self.at_least, *self.escalate_to):
            if self.known_roles and role not in self.known_roles:
                raise ValueError(f"the policy names the role {role}, which known_roles does not list: add it there")
        return self

    @property
    def role_names(self) -> tuple[str, ...]:
        """Every role an approver can have; without `known_roles`, those that the policy names."""
        named = self.known_roles or (*self.roles, *self.at_least, *self.escalate_to)
        return tuple(sorted({*named, AUDITOR}))


class RequestFacts(Frozen):
    """What a request depends on, as fields: not signed, only read to say whether the request is still of use.

    `cap` is that of a limit to set (`kind:subject`), with its limit of then in `before_micros` (None: it had none), or
    the one to reopen, with its day. `last_day` is the last day on which an order may run.
    """

    model_config = ConfigDict(strict=True)

    change: Literal["limit", "reopen", "order"]
    cap: str | None = None
    before_micros: int | None = None
    last_day: date | None = None


class ApprovalRequest(Frozen):
    """An action that waits for people."""

    model_config = ConfigDict(strict=True)

    action: SignedAction
    requested_at: Instant
    facts: RequestFacts | None = None

    @model_serializer(mode="wrap")
    def _without_absent_facts(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # Requests from before there were facts keep their text, which the audit log has too.
        values: dict[str, Any] = write(self)
        if self.facts is None:
            values.pop("facts", None)
        return values

    def escalates_at(self, policy: ApprovalPolicy) -> datetime:
        """When the request is taken further."""
        return self.requested_at + timedelta(minutes=policy.escalate_after_minutes)

    def expires_at(self, policy: ApprovalPolicy) -> datetime:
        """When the request is over, decided or not."""
        return self.requested_at + timedelta(minutes=policy.expire_after_minutes)


def load_policy(path_or_name: str | Path) -> ApprovalPolicy:
    """Read a policy by its name in configs/approvals or by path; ConfigError names what is wrong."""
    return load_model(ApprovalPolicy, path_or_name, "approvals")


def stricter(first: ApprovalPolicy, second: ApprovalPolicy) -> ApprovalPolicy:
    """The policy that asks for at least as much as both in every respect; the first if they ask for the same.

    If each asks for more than the other in something, a new policy with the stricter demand in each respect. Refused if
    nobody could fulfil that one.
    """
    demands = {name: choose(getattr(first, name), getattr(second, name)) for name, choose in _STRICTER_OF.items()}
    for policy in (first, second):
        if all(_unordered(getattr(policy, name)) == _unordered(demand) for name, demand in demands.items()):
            return policy
    why = first.why if first.why == second.why else f"Two policies apply. {first.why} {second.why}"[:_WHY_MAX]
    try:
        return ApprovalPolicy(**demands, why=why)
    except ValidationError as problem:
        raise _not_together(problem.errors(include_url=False)[0]["msg"]) from None


def _common_roles(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    """The roles that count under both; an empty list counts everyone."""
    common = tuple(sorted({*first} & {*second}))
    if first and second and not common:
        raise _not_together(f"one counts only {', '.join(first)}, the other only {', '.join(second)}")
    return common or first or second


def _all_roles(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted({*first, *second}))


def _higher_counts(first: dict[str, int], second: dict[str, int]) -> dict[str, int]:
    return {role: max(first.get(role, 0), second.get(role, 0)) for role in sorted({*first, *second})}


def _not_together(why: str) -> Refused:
    return Refused(
        f"two approval policies apply, that of the run and that of the settings, and they cannot be fulfilled together:"
        f" {why}. Change the policy of the settings so that both can be fulfilled, or begin another run"
    )


def _unordered(demand: Any) -> Any:
    return frozenset(demand) if isinstance(demand, tuple) else demand


# Which of two demands is the stricter one, for each field but the explanations.
_STRICTER_OF: dict[str, Callable[[Any, Any], Any]] = {
    "quorum": max,
    "roles": _common_roles,
    "at_least": _higher_counts,
    "four_eyes": max,
    "sandbox": min,
    "valid_minutes_max": min,
    "escalate_after_minutes": min,
    "expire_after_minutes": min,
    "escalate_to": _all_roles,
    "skew_seconds": min,
}


def policy_for(settings: Settings, world: LiveOrSandbox) -> ApprovalPolicy:
    """What holds for actions in a world: where real money can move, never a policy for the sandbox."""
    return load_policy(policy_name(settings, world))


def policy_name(settings: Settings, world: LiveOrSandbox) -> str:
    """What the policy for actions in a world is called, or its path."""
    named = settings.approvals.policy
    return LIVE if world == "live" and load_policy(named).sandbox else str(named)
