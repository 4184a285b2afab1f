"""Who may use which account: customer ids, login-customer-id, tokens, quota and suspension, with Google's errors."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from gaelp.sandbox.front import TIME_HEADER, stamped_time
from gaelp.sandbox.google.change_events import Editor
from gaelp.sandbox.google.failures import AdsError, AdsRefusal
from gaelp.sandbox.google.messages import Message, new, set_enum
from gaelp.sandbox.spec import SandboxSpec
from gaelp.sandbox.world_call import Resource, WorldCall

__all__ = ["CLIENT_HEADER", "DAILY_OPERATIONS", "USER_HEADER", "AdsCaller", "Customers", "read_caller"]

USER_HEADER = "gaelp-sandbox-user"  # whom change_event names as the author
CLIENT_HEADER = "gaelp-sandbox-client"  # and by what client, such as GOOGLE_ADS_WEB_CLIENT for an edit by hand
DAILY_OPERATIONS = 15_000  # of basic access
_DEFAULT_USER = "api-user@sandbox.example"
_STATE = "google/account_state"
_SUSPENDED = b"SUSPENDED"
_CUSTOMER_ID = re.compile(r"[0-9]{10}")


@dataclass(frozen=True, slots=True)
class AdsCaller:
    """What the metadata of a request says of its sender."""

    login_customer: str  # empty if the request has none
    editor: Editor
    at: datetime | None  # the simulated time that the request carries


def _refusal(category: str, code: str, message: str, trigger: str = "") -> AdsRefusal:
    return AdsRefusal(AdsError(category, code, message, trigger=trigger))


def read_caller(metadata: Mapping[str, str]) -> AdsCaller:
    """The sender of a request; AdsRefusal without developer token or access token."""
    if not metadata.get("authorization", "").startswith("Bearer "):
        text = "The request has no OAuth 2 access token (metadata `authorization`)."
        raise _refusal("authentication_error", "OAUTH_TOKEN_HEADER_INVALID", text)
    if not metadata.get("developer-token"):
        text = "The request has no developer token (metadata `developer-token`)."
        raise _refusal("request_error", "DEVELOPER_TOKEN_PARAMETER_MISSING", text)
    login = metadata.get("login-customer-id", "")
    if login and not _CUSTOMER_ID.fullmatch(login):
        text = f"login-customer-id '{login}' is not a customer id: use ten digits without dashes."
        raise _refusal("header_error", "INVALID_LOGIN_CUSTOMER_ID", text, login)
    editor = Editor(
        metadata.get(USER_HEADER, _DEFAULT_USER), _client_type(metadata.get(CLIENT_HEADER, "GOOGLE_ADS_API"))
    )
    return AdsCaller(login, editor, stamped_time(metadata.get(TIME_HEADER)))


def _client_type(name: str) -> str:
    values = new("resources.ChangeEvent").DESCRIPTOR.fields_by_name["client_type"].enum_type.values_by_name
    if name not in values:
        text = f"{CLIENT_HEADER} '{name}' is not a client type: use one of {', '.join(values)}."
        raise _refusal("request_error", "INVALID_ENUM_VALUE", text, name)
    return name


@dataclass(frozen=True, slots=True)
class Customers:
    """The accounts of a sandbox."""

    spec: SandboxSpec

    @property
    def accessible(self) -> tuple[str, ...]:
        """Every account; the user of a sandbox may use all of them."""
        return (self.spec.manager_customer_id, *self.spec.customer_ids)

    def is_manager(self, customer: str) -> bool:
        """Whether an account only manages others."""
        return customer == self.spec.manager_customer_id

    def check_access(self, customer: str, caller: AdsCaller) -> None:
        """Raise AdsRefusal unless the caller may use this account."""
        if not _CUSTOMER_ID.fullmatch(customer):
            text = f"Invalid customer id '{customer}': use ten digits without dashes."
            raise _refusal("request_error", "INVALID_CUSTOMER_ID", text, customer)
        allowed_logins = {"", customer, self.spec.manager_customer_id}
        if customer not in self.accessible or caller.login_customer not in allowed_logins:
            text = (
                "User doesn't have permission to access customer. Note: If you're accessing a client customer, the"
                " manager's customer id must be set in the 'login-customer-id' header."
                f" (customers of this sandbox: {', '.join(self.accessible)})"
            )
            raise _refusal("authorization_error", "USER_PERMISSION_DENIED", text, customer)

    def check_change(self, call: WorldCall, customer: str) -> None:
        """Raise AdsRefusal unless the account may be changed."""
        if self.is_manager(customer):
            text = "A manager account has no campaigns: name one of its client accounts."
            raise _refusal("request_error", "CANNOT_BE_EXECUTED_BY_MANAGER_ACCOUNT", text, customer)
        if self.is_suspended(call, customer):
            text = f"The account {customer} is suspended."
            raise _refusal("authorization_error", "ACTION_NOT_PERMITTED_FOR_SUSPENDED_ACCOUNT", text, customer)

    def count(self, call: WorldCall, customer: str, operations: int) -> None:
        """Count operations of the account's day; AdsRefusal beyond the quota."""
        if call.count_operations(customer, operations) > DAILY_OPERATIONS:
            text = f"Too many requests. {DAILY_OPERATIONS} operations a day are allowed: retry tomorrow."
            raise _refusal("quota_error", "RESOURCE_EXHAUSTED", text)

    def is_suspended(self, call: WorldCall, customer: str) -> bool:
        """Whether the platform has suspended the account."""
        stored = call.resource(customer, _STATE, 1)
        return stored is not None and stored.body == _SUSPENDED

    def set_suspended(self, call: WorldCall, customer: str, *, suspended: bool) -> None:
        """Keep that an account is suspended, or is not; what it serves is another matter."""
        call.put(Resource(customer, _STATE, 1, "", _SUSPENDED if suspended else b"ENABLED"))

    def message(self, call: WorldCall, customer: str) -> Message:
        """The customer resource."""
        result = new(
            "resources.Customer",
            resource_name=f"customers/{customer}",
            id=int(customer),
            descriptive_name=f"Sandbox {'manager' if self.is_manager(customer) else 'account'} {customer}",
            currency_code=self.spec.currency,
            time_zone=self.spec.time_zone,
            manager=self.is_manager(customer),
            test_account=True,
            auto_tagging_enabled=True,
        )
        set_enum(result, "status", "SUSPENDED" if self.is_suspended(call, customer) else "ENABLED")
        return result
