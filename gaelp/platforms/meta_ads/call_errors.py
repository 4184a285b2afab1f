"""What an error of the official client means: certainly refused, worth a retry, or unknown; and its text."""

from facebook_business.exceptions import FacebookRequestError
from requests.exceptions import ConnectionError as ConnectionFailed
from requests.exceptions import RequestException, Timeout

from gaelp.checks.raised import in_words
from gaelp.observability.redact import mask_text
from gaelp.platforms.retrying import ErrorReading

__all__ = ["ERRORS", "BadAnswer", "describe", "is_refusal", "is_worth_a_retry"]

# Unknown errors, and too many calls of an application, user, page or ad account.
_PASSING_CODES = frozenset({1, 2, 4, 17, 32, 341, 613, *range(80000, 80015)})


class BadAnswer(Exception):
    """The server answered something that is not an answer of the Graph API."""


def is_refusal(error: Exception) -> bool:
    """Whether the server says that it will not carry the call out, now or later."""
    return isinstance(error, FacebookRequestError) and not is_worth_a_retry(error)


def is_worth_a_retry(error: Exception) -> bool:
    """Whether the same call may succeed a moment later."""
    if isinstance(error, FacebookRequestError):
        status = error.http_status() or 0
        has_no_code = error.api_error_code() is None
        return bool(
            error.api_transient_error() or error.api_error_code() in _PASSING_CODES or status >= 500 or has_no_code
        )
    return isinstance(error, ConnectionFailed | Timeout | RequestException | BadAnswer)


def describe(error: Exception) -> str:
    """Status, Meta's own codes and message, and the trace id that Meta's support asks for; never the address.

    The client's own text holds the request, and an address holds the token.
    """
    if isinstance(error, FacebookRequestError):
        body = error.body()
        details = body.get("error", {}) if isinstance(body, dict) else {}
        codes = "/".join(str(code) for code in (error.api_error_code(), error.api_error_subcode()) if code is not None)
        message = details.get("error_user_msg") or error.api_error_message() or "no message"
        trace = details.get("fbtrace_id", "none")
        return mask_text(f"HTTP {error.http_status()}: {message} (code {codes or 'none'}, trace {trace})")
    if isinstance(error, RequestException):
        return f"no answer from Meta ({type(error).__name__})"
    return in_words(error)


ERRORS = ErrorReading(is_refusal, is_worth_a_retry, describe)
