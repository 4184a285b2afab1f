"""The content policy as data: rules with a `why`, limits of quality, and what each advertiser adds."""

from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import Field, PositiveInt, model_validator

from gaelp.config.base import Frozen
from gaelp.config.field_types import Share
from gaelp.config.load import load_model
from gaelp.config.names import Name, Slug, check_name
from gaelp.content.verdict import ContentSeverity
from gaelp.errors import ConfigError

__all__ = [
    "AudienceLimits",
    "Brand",
    "ContentPolicy",
    "ContentRule",
    "Disclaimer",
    "NamedTerms",
    "ProfanityLimits",
    "QualityLimits",
    "Tone",
    "load_brand",
    "load_policy",
]

Why = Annotated[str, Field(min_length=1, max_length=400)]
ForbiddenTerms = Annotated[tuple[Annotated[str, Field(min_length=2, max_length=400)], ...], Field(min_length=1)]


class ContentRule(Frozen):
    """Terms that must not be published (terms.py describes how terms are written), and the innocent uses of them."""

    id: Slug
    category: Slug
    severity: ContentSeverity
    terms: ForbiddenTerms
    unless: tuple[str, ...] = Field(default=(), description="innocent phrases; a term inside one is no finding")
    allowed_from_age: PositiveInt | None = Field(default=None, description="no finding if the audience is that old")
    why: Why


class AudienceLimits(Frozen):
    """Below block_below_age nothing is published; below no_interests_below_age nothing that aims at interests."""

    block_below_age: PositiveInt
    no_interests_below_age: PositiveInt
    why: Why


class ProfanityLimits(Frozen):
    """From which score of the classifier on a person looks, and from which nothing is published.

    A score alone decides nothing: it scores words such as "gay" by the company they keep elsewhere. It counts for a
    field in which a term of one of the categories `together_with` was found.
    """

    review_from: Share
    block_from: Share
    together_with: tuple[Slug, ...] = Field(min_length=1)
    why: Why

    @model_validator(mode="after")
    def _review_comes_first(self) -> Self:
        if self.review_from > self.block_from:
            raise ValueError(
                f"review_from={self.review_from} exceeds block_from={self.block_from}: lower it, or raise block_from"
            )
        return self


class QualityLimits(Frozen):
    """The platform's lengths in characters (wide ones count two), and the lowest quality that goes unseen."""

    headline_max: PositiveInt
    description_max: PositiveInt
    review_below: Share
    capitals_max: Share = Field(description="share of words of four letters or more in capitals")
    landing_match_min: Share = Field(description="share of the advert's words that the landing page has too")
    why: Why


class ContentPolicy(Frozen):
    """Everything that holds for every advertiser."""

    name: Slug
    languages: tuple[str, ...] = Field(min_length=1, description="languages the rules are written in")
    common_words: dict[str, str] = Field(description="by language, words that tell it from the others, in lower case")
    link_endings: str = Field(description="what the name of a host ends in, in lower case: com de shop")
    audience: AudienceLimits
    profanity: ProfanityLimits
    quality: QualityLimits
    unless: tuple[str, ...] = ()
    rules: tuple[ContentRule, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _rules_are_named_once(self) -> Self:
        ids = [rule.id for rule in self.rules]
        if twice := sorted({name for name in ids if ids.count(name) > 1}):
            raise ValueError(f"rules: {', '.join(twice)} given twice; allowed: once. Rename or merge them.")
        return self

    @model_validator(mode="after")
    def _own_languages_can_be_told(self) -> Self:
        if unknown := [tag for tag in self.languages if not self.common_words.get(tag, "").split()]:
            raise ValueError(
                f"common_words: none for {', '.join(unknown)}; allowed: some for each of languages. Add them."
            )
        return self

    @cached_property
    def address_endings(self) -> frozenset[str]:
        """The endings that make two words with a dot between an address."""
        return frozenset(self.link_endings.split())

    @cached_property
    def common_words_by_language(self) -> dict[str, frozenset[str]]:
        """The words of each language, without those that the languages of the rules have too."""
        words = {tag: frozenset(text.split()) for tag, text in self.common_words.items()}
        own = frozenset[str]().union(*(words[tag] for tag in self.languages))
        return {tag: common if tag in self.languages else common - own for tag, common in words.items()}


class NamedTerms(Frozen):
    """Words an advertiser does not want to see in its own adverts."""

    terms: ForbiddenTerms
    severity: ContentSeverity = "block"
    why: Why


class Disclaimer(Frozen):
    """A sentence that a field has to hold when one of the terms is used; without terms, always."""

    text: str = Field(min_length=1, max_length=1_000)
    field: Literal["headline", "description", "landing_text"]
    when: tuple[str, ...] = ()
    why: Why


class Tone(Frozen):
    """How loud an advertiser may be; a limit that is left out is none."""

    exclamation_marks_max: int | None = Field(default=None, ge=0)
    emoji_max: int | None = Field(default=None, ge=0)
    capital_words_max: int | None = Field(default=None, ge=0)
    why: Why


class Brand(Frozen):
    """What one advertiser adds to the policy."""

    advertiser: Name
    allowed_domains: tuple[str, ...] = Field(min_length=1, description="with all their subdomains")
    own_marks: tuple[str, ...] = Field(
        default=(), description="its names and the trademarks it may use; no finding inside one"
    )
    competitors: NamedTerms | None = None
    forbidden: NamedTerms | None = None
    disclaimers: tuple[Disclaimer, ...] = ()
    tone: Tone | None = None
    why: Why


def load_policy(path_or_name: str = "policy") -> ContentPolicy:
    """Read a policy by its name in configs/content or by path; ConfigError names what is wrong."""
    return load_model(ContentPolicy, path_or_name, "content")


def load_brand(advertiser: str) -> Brand:
    """Read an advertiser's rules from configs/content/brands; a path is refused, for the name comes with the advert."""
    check_name(advertiser, "advertiser")
    if advertiser.endswith((".yaml", ".yml")):
        raise ConfigError(f"advertiser: saw {advertiser!r}; allowed: a name without .yaml. Name the advertiser itself.")
    return load_model(Brand, advertiser, "content/brands")
