"""GoogleAdsService.Search with pages, and SearchStream."""

import base64
import binascii
import hashlib

from gaelp.sandbox.google.failures import AdsError, AdsRefusal
from gaelp.sandbox.google.messages import Message, new
from gaelp.sandbox.google.search import SearchAnswer, run_search
from gaelp.sandbox.google.session import AdsSession

__all__ = ["PAGE_ROWS", "search", "search_stream"]

PAGE_ROWS = 10_000  # of a page and of a message of a stream, as in the real API


def _run(session: AdsSession, query: str) -> SearchAnswer:
    session.customers.count(session.call, session.customer, 1)
    return run_search(query, session.readable(), session.customers)


def search(session: AdsSession, request: Message, page_rows: int = PAGE_ROWS) -> Message:
    """A page of the answer to a query."""
    if request.page_size:
        text = "Setting the page size is not supported: a page has 10,000 rows."
        raise AdsRefusal(AdsError("request_error", "PAGE_SIZE_NOT_SUPPORTED", text, (("page_size", None),)))
    offset = _offset(request)
    answered = _run(session, request.query)
    answer = new("services.SearchGoogleAdsResponse")
    if request.validate_only:
        return answer
    answer.field_mask.paths.extend(answered.paths)
    settings = request.search_settings
    if not settings.omit_results:
        answer.results.extend(answered.rows[offset : offset + page_rows])
        if offset + page_rows < len(answered.rows):
            answer.next_page_token = _token(request.query, offset + page_rows)
    if settings.return_total_results_count:
        answer.total_results_count = answered.total_rows
    if settings.return_summary_row and not answer.next_page_token:
        answer.summary_row.CopyFrom(answered.summary)
    return answer


def search_stream(session: AdsSession, request: Message) -> list[Message]:
    """The answer to a query in parts."""
    answered = _run(session, request.query)
    parts = []
    for start in range(0, max(len(answered.rows), 1), PAGE_ROWS):
        part = new("services.SearchGoogleAdsStreamResponse", request_id=session.request_id)
        part.field_mask.paths.extend(answered.paths)
        part.results.extend(answered.rows[start : start + PAGE_ROWS])
        parts.append(part)
    if request.summary_row_setting == _SUMMARY_WITH_RESULTS:
        parts[-1].summary_row.CopyFrom(answered.summary)
    return parts


_SUMMARY_WITH_RESULTS = 3  # SummaryRowSetting


def _fingerprint(query: str) -> str:
    return hashlib.blake2b(query.encode(), digest_size=8).hexdigest()


def _token(query: str, offset: int) -> str:
    return base64.urlsafe_b64encode(f"{_fingerprint(query)}:{offset}".encode()).decode()


def _offset(request: Message) -> int:
    """Where the page begins; AdsRefusal if the token is not one of this query."""
    if not request.page_token:
        return 0
    try:
        fingerprint, _, offset = base64.urlsafe_b64decode(request.page_token.encode()).decode().partition(":")
        if fingerprint == _fingerprint(request.query):
            return int(offset)
    except (binascii.Error, ValueError):
        pass
    text = "The page token is invalid, or belongs to another query."
    raise AdsRefusal(AdsError("request_error", "INVALID_PAGE_TOKEN", text, (("page_token", None),), request.page_token))
