"""How many people must agree, which ones, and by when: a policy is data in configs/approvals/*.yaml."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal, Self

from pydantic import ConfigDict, Field, model_validator

from gaelp.approvals.action import LiveOrSandbox, SignedAction
from gaelp.approvals.words import Instant
from gaelp.config.base import Frozen
from gaelp.config.load import load_model
from gaelp.config.names import Slug
from gaelp.config.settings import Settings

__all__ = [
    "LIVE",
    "ApprovalPolicy",
    "ApprovalRequest",
    "RequestState",
    "load_policy",
    "policy_for",
    "policy_name",
    "stricter",
]

LIVE = "live"  # the policy where real money can move and none other is named

RequestState = Literal["approved", "escalate", "expired", "rejected", "waiting"]


class ApprovalPolicy(Frozen):
    """What an action needs before it may be done. Times are whole minutes."""

    model_config = ConfigDict(strict=True)

    quorum: int = Field(ge=1, le=16, description="how many different people must approve")
    roles: tuple[Slug, ...] = Field(default=(), description="only who has one of these counts; none: everyone trusted")
    at_least: dict[Slug, int] = Field(default={}, description="of these roles, so many among those who approve")
    four_eyes: bool = Field(default=True, description="who asks does not count among those who approve")
    sandbox: bool = Field(default=False, description="no real money can move: a name without a signature is accepted")
    valid_minutes_max: int = Field(ge=1, le=43_200, description="the longest time an approval may be valid")
    escalate_after_minutes: int = Field(ge=1, le=525_600, description="then those of escalate_to are told")
    expire_after_minutes: int = Field(ge=1, le=525_600, description="then the request is over and must be made anew")
    escalate_to: tuple[Slug, ...] = Field(default=(), description="roles to be told when a request waits too long")
    skew_seconds: int = Field(default=30, ge=0, le=300, description="by how much the approver's clock may be ahead")
    why: str = Field(min_length=1, max_length=400)

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


class ApprovalRequest(Frozen):
    """An action that waits for people."""

    model_config = ConfigDict(strict=True)

    action: SignedAction
    requested_at: Instant

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
    """The policy that asks for more: signatures, then people, then a shorter validity; the first if they are equal."""
    return max(first, second, key=_strictness)


def _strictness(policy: ApprovalPolicy) -> tuple[bool, int, int]:
    return not policy.sandbox, policy.quorum, -policy.valid_minutes_max


def policy_for(settings: Settings, world: LiveOrSandbox) -> ApprovalPolicy:
    """What holds for actions in a world: where real money can move, never a policy for the sandbox."""
    return load_policy(policy_name(settings, world))


def policy_name(settings: Settings, world: LiveOrSandbox) -> str:
    """What the policy for actions in a world is called, or its path."""
    named = settings.approvals.policy
    return LIVE if world == "live" and load_policy(named).sandbox else str(named)
