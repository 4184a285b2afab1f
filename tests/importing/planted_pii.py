"""Personal data and keys that exist nowhere, for planting into free text."""

import string
from random import Random

_WORDS = ("buy", "running shoes", "cheap flights", "order 12", "ring me", "contact", "blue, large", "Straße", "靴")
_ALPHABET = string.ascii_letters + string.digits


def emails(rng: Random, count: int) -> list[str]:
    return [
        f"{_letters(rng, 6)}{rng.choice(('.', '_', '+', ''))}{rng.randrange(1000)}@{_letters(rng, 7)}.{end}"
        for end in rng.choices(("com", "de", "co.uk", "museum"), k=count)
    ]


def phones(rng: Random, count: int) -> list[str]:
    forms = (
        "+1 415 555 {:04d}",
        "+4930{:07d}",
        "(415) 555-{:04d}",
        "415-555-{:04d}",
        "415.555.{:04d}",
        "0171/{:07d}",
        "+49 (0)30 901{:05d}",
        "415555{:04d}",
        "+81-3-{:04d}-1234",
    )
    return [rng.choice(forms).format(rng.randrange(1000, 9999)) for _ in range(count)]


def cards(rng: Random, count: int) -> list[str]:
    return [_card(rng) for _ in range(count)]


def keys(rng: Random, count: int) -> list[str]:
    forms = ("sk-{}", "AKIA{}", "AIza{}", "ghp_{}", "token={}", "Authorization: Bearer {}", "eyJ{}.eyJ9.sig", "{}")
    return [rng.choice(forms).format("7aB" + "".join(rng.choices(_ALPHABET, k=29))) for _ in range(count)]


def free_text(rng: Random, secret: str) -> str:
    return f"{rng.choice(_WORDS)} {secret} {rng.choice(_WORDS)}"


def core(secret: str) -> str:
    """The part of a planted secret that must not be found again."""
    return secret.removeprefix("token=").removeprefix("Authorization: Bearer ")


def _letters(rng: Random, count: int) -> str:
    return "".join(rng.choices(string.ascii_lowercase, k=count))


def _card(rng: Random) -> str:
    digits = [int(digit) for digit in rng.choice(("4", "51", "37", "6011"))]
    digits += [rng.randrange(10) for _ in range(15 - len(digits))]
    total = sum(sum(divmod(2 * digit, 10)) if place % 2 == 0 else digit for place, digit in enumerate(digits[::-1]))
    text = "".join(map(str, [*digits, -total % 10]))
    gap = rng.choice(("", " ", "-"))
    return gap.join(text[place : place + 4] for place in range(0, 16, 4))
