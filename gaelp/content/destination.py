"""Where an advert leads: both addresses have to be honest, and belong to the advertiser."""

import re
import unicodedata
from collections.abc import Iterator
from urllib.parse import SplitResult, urlsplit

from gaelp.content.creative import Creative
from gaelp.content.policy import Brand
from gaelp.content.unveiling import as_written, decode
from gaelp.content.verdict import ContentFinding, ContentSeverity

__all__ = ["check_destination", "home_of", "host_of", "is_within"]

_HOST = re.compile(r"(?=.{1,253}\Z)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]")
# An address inside another: with its scheme, or with the two slashes that browsers take for one.
_INNER = re.compile(
    r"(?:(?P<scheme>https?:[/\\]+|[a-z][a-z0-9+.-]{0,20}:[/\\]{2,})|[/\\]{2,})(?P<host>[^/\\?#&\s]{1,253})",
    re.IGNORECASE,
)
# Parameters that by custom name where a visitor is sent; in these a bare host counts as an address, a file does not.
_SENDING = re.compile(
    r"[?&#;](?:u|ur[il]|to|r|redir|redirect(?:_ur[il])?|dest|destination|next|target|goto|go|out|link|return|continue)"
    r"=(?P<host>[a-z0-9.-]{1,253})",
    re.IGNORECASE,
)
_FILE = re.compile(r"\.(?:html?|php|aspx?|jsp|jpe?g|png|gif|pdf)$")


def check_destination(creative: Creative, brand: Brand | None) -> list[ContentFinding]:
    """Addresses that cannot be read, imitate another, differ, lie outside the allowed domains or lead on from there."""
    urls = {field: getattr(creative, field) for field in ("display_url", "landing_url")}
    hosts = {field: host_of(url) for field, url in urls.items() if url.strip()}
    return [
        *(_finding(field, urls[field], _UNREADABLE) for field, host in hosts.items() if not host),
        *_without_scheme(creative.landing_url, hosts.get("landing_url", "")),
        *_invisible(urls),
        *_imitations(hosts),
        *_mismatch(hosts),
        *_foreign(hosts, brand),
        *_unusual(urls, hosts),
        *_leads_on(creative.landing_url, hosts.get("landing_url", ""), home_of(creative, brand)),
    ]


def home_of(creative: Creative, brand: Brand | None) -> tuple[str, ...]:
    """The domains that are the advertiser's; where its rules are not known, that of the landing page."""
    landing = _bare(host_of(creative.landing_url))
    return brand.allowed_domains if brand else (landing,) if landing else ()


def host_of(url: str) -> str:
    """The host of an address with or without https://, in lower case; empty where there is no plain one."""
    try:
        parts = _parts(url)
        _ = parts.port  # one that is no number makes the whole address unreadable
        host = (parts.hostname or "").rstrip(".")
        honest = parts.scheme in ("", "http", "https") and parts.username is None and bool(_HOST.fullmatch(host))
    except ValueError:
        return ""
    return host if honest else ""


def _parts(url: str) -> SplitResult:
    bare = url.strip()
    return urlsplit(bare if re.match(r"(?:[a-z][a-z0-9+.-]*:)?//", bare, re.IGNORECASE) else f"//{bare}")


_UNREADABLE = "The address is not a plain web address with a host of ASCII letters: nobody can tell where it leads."


def _without_scheme(url: str, host: str) -> Iterator[ContentFinding]:
    if host and not re.match(r"https?://", url.strip(), re.IGNORECASE):
        why = "The landing address does not say how it is opened; allowed: https://. Write it in front of the host."
        yield _finding("landing_url", url, why)


def _invisible(urls: dict[str, str]) -> Iterator[ContentFinding]:
    """Control characters, which browsers drop: what is judged would not be what is opened."""
    for field, url in urls.items():
        unseen = [sign for sign in url.strip() if unicodedata.category(sign) in ("Cc", "Cf", "Zl", "Zp")]
        if unseen:
            why = f"U+{ord(unseen[0]):04X} is in the address, where nobody sees it; allowed: none. Take it out."
            yield _finding(field, url, why)


def _imitations(hosts: dict[str, str]) -> Iterator[ContentFinding]:
    for field, host in hosts.items():
        if any(label.startswith("xn--") for label in host.split(".")):
            yield _finding(field, host, "An encoded (xn--) host may be drawn like another's. A person has to look.")


def _mismatch(hosts: dict[str, str]) -> Iterator[ContentFinding]:
    display, landing = (hosts.get(field, "") for field in ("display_url", "landing_url"))
    if display and landing and not (is_within(landing, _bare(display)) or is_within(display, _bare(landing))):
        why = f"The advert shows {display} and leads to {landing}: platforms refuse a destination that differs."
        yield _finding("landing_url", landing, why)


def _foreign(hosts: dict[str, str], brand: Brand | None) -> Iterator[ContentFinding]:
    for field, host in hosts.items():
        if brand and host and not any(is_within(host, domain) for domain in brand.allowed_domains):
            allowed = ", ".join(brand.allowed_domains)
            yield _finding(field, host, f"The host is none of {brand.advertiser}'s; allowed: {allowed}.")


def _unusual(urls: dict[str, str], hosts: dict[str, str]) -> Iterator[ContentFinding]:
    """Of addresses that can be read: those without encryption, or at a door of their own."""
    for field in (field for field, host in hosts.items() if host):
        parts = _parts(urls[field])
        if parts.scheme == "http":
            why = "http:// is not encrypted: whoever sits between can change the page. Use https://, or have it seen."
            yield _finding(field, urls[field], why, severity="review")
        if parts.port not in (None, 443 if parts.scheme != "http" else 80):
            why = f"Port {parts.port} is none that public pages are served at; allowed: the one of https. Leave it out."
            yield _finding(field, urls[field], why, severity="review")


def _leads_on(url: str, landing: str, home: tuple[str, ...]) -> Iterator[ContentFinding]:
    """Other hosts named behind the landing host, which may send a visitor there: /r?u=https://elsewhere.test."""
    if not landing:
        return
    for named in dict.fromkeys(_hosts_behind(url)):
        if not any(is_within(host_of(named), domain) for domain in home):
            why = f"The address holds another, which may send visitors on; allowed: {', '.join(home)}. Leave it out."
            yield _finding("landing_url", named, why, severity="review")


def _hosts_behind(url: str) -> Iterator[str]:
    parts = _parts(url)
    behind = decode(as_written(f"{parts.path}?{parts.query}#{parts.fragment}")).text
    for match in _INNER.finditer(behind):
        host = host_of(match["host"])
        if host or match["scheme"] or "@" in match["host"]:  # two slashes alone are often a slip: /bread//rolls
            yield host or match[0]
    for match in _SENDING.finditer(behind):
        host = host_of(match["host"])
        if host and not _FILE.search(host):
            yield host


def is_within(host: str, domain: str) -> bool:
    """Whether a host is the domain or one of its subdomains."""
    return host == domain or host.endswith(f".{domain}")


def _bare(host: str) -> str:
    return host.removeprefix("www.")


def _finding(field: str, excerpt: str, why: str, *, severity: ContentSeverity = "block") -> ContentFinding:
    return ContentFinding(
        rule="destination", category="destination", severity=severity, field=field, excerpt=excerpt[:200], why=why
    )
