"""The changes of a campaign, as Meta's API has them; the last call of each leaves the label of its key behind.

Meta carries out one call as a whole, but not several. So whatever needs several calls makes only harmless things first
(ad sets that bid one cent, adverts) and ends with the one call on the campaign that sets the bids and the label.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from typing import Any

from gaelp.content import Creative, creative_hash
from gaelp.errors import GaelpError, Refused
from gaelp.money import Micros
from gaelp.platforms.meta_ads.account_reading import (
    CENT_MICROS,
    MARK,
    AdAccountRow,
    AdSetRow,
    MetaCampaignRow,
    PublishedAdvert,
    creative_name,
    key_label,
    read_ad_sets,
    read_campaign_rows,
    read_published,
)
from gaelp.platforms.meta_ads.call_errors import describe, is_refusal
from gaelp.platforms.meta_ads.connection import GraphConnection

__all__ = ["CampaignChanges"]

_KEPT_KEYS = 40  # Meta allows 50 labels on an object; older keys are settled long since
_FIRST_BID_CENTS = 1  # of a new ad set, until the call that sets all bids
# Meta counts these in whole units, so an amount in cents would be a hundred times as much.
_WITHOUT_CENTS = frozenset({"CLP", "COP", "CRC", "HUF", "ISK", "IDR", "JPY", "KRW", "PYG", "TWD", "VND"})


class CampaignChanges:
    """Changes under one key; each method makes the change, and raises Refused if it cannot be made."""

    def __init__(self, connection: GraphConnection, account: AdAccountRow, key: str) -> None:
        self._connection, self._account, self._key = connection, account, key

    def was_made(self) -> bool:
        """Whether a campaign has the label; a request that arrived twice has made two, of which the first stays."""
        rows = [row for row in read_campaign_rows(self._connection, self._account.zone) if row.has_key(self._key)]
        for row in rows[1:]:
            if row.name == rows[0].name:
                self._connection.delete(row.id)
        return bool(rows)

    def set_budget(self, campaign: str, daily_micros: Micros, through: date) -> None:
        """Create a paused campaign with this budget, or change budget and last day of an existing one."""
        end = datetime.combine(through + timedelta(days=1), time(), self._account.zone)
        changes: dict[str, Any] = {
            "daily_budget": self._cents(daily_micros, "a daily budget"),
            "stop_time": end.strftime("%Y-%m-%dT%H:%M:%S%z"),
        }
        row = self._find(campaign)
        if row is not None:
            self._connection.change(row.id, **changes, adlabels=self._labels(row))
            return
        self._connection.change(
            self._connection.account,
            "campaigns",
            name=campaign,
            objective="OUTCOME_TRAFFIC",
            status="PAUSED",
            special_ad_categories=[],
            bid_strategy="LOWEST_COST_WITH_BID_CAP",
            adlabels=[{"name": MARK}, {"name": key_label(self._key)}],
            **changes,
        )
        self.was_made()  # removes the second one, if the request arrived twice

    def set_status(self, campaign: str, status: str) -> None:
        """ACTIVE or PAUSED."""
        row = self._required(campaign)
        self._connection.change(row.id, status=status, adlabels=self._labels(row))

    def publish(self, campaign: str, creative: Creative) -> None:
        """Add an advert to every ad set of a campaign, and to those to come."""
        row, digest = self._required(campaign), creative_hash(creative)
        made = next((each for each in self._published(row) if each.creative_hash == digest), None)
        if made is not None and key_label(self._key) not in made.keys:
            raise Refused(f"the advert {creative.id} is published in {campaign} already")
        with self._undone_if_refused(lambda: self._withdraw(row, digest)):
            if made is None:
                made = self._create_creative(row, creative, digest)
            self._show(self._ad_sets(row), [made])
            self._connection.change(row.id, adlabels=self._labels(row))

    def set_bids(self, campaign: str, bids: Mapping[str, Micros]) -> None:
        """Set the bids of ad sets in one call; a missing one is created with the campaign's adverts before."""
        row = self._required(campaign)
        cents = {target: self._cents(micros, f"the bid of {target}") for target, micros in bids.items()}
        ad_sets = {ad_set.name: ad_set for ad_set in reversed(self._ad_sets(row))}
        missing = sorted(cents.keys() - ad_sets.keys())
        with self._undone_if_refused(lambda: self._remove_ad_sets(row, missing)):
            for target in missing:
                self._create_ad_set(row, target)
            if missing:
                ad_sets = self._tidied(row, missing)
                self._show([ad_sets[target] for target in missing], self._published(row))
            amounts = {ad_sets[target].id: amount for target, amount in cents.items()}
            self._connection.change(row.id, adset_bid_amounts=amounts, adlabels=self._labels(row))

    # Parts

    def _find(self, campaign: str) -> MetaCampaignRow | None:
        rows = [row for row in read_campaign_rows(self._connection, self._account.zone) if row.name == campaign]
        if len(rows) > 1:
            raise Refused(f"Meta has {len(rows)} campaigns called {campaign}: delete all but one in the Ads Manager")
        return rows[0] if rows else None

    def _required(self, campaign: str) -> MetaCampaignRow:
        row = self._find(campaign)
        if row is None:
            raise Refused(f"there is no campaign {campaign!r} that GAELP created: order a budget for it first")
        return row

    def _labels(self, row: MetaCampaignRow) -> list[dict[str, str]]:
        """The labels of a campaign with that of the key; of the earlier keys the last ones are kept."""
        keys = [label for label, name in row.labels if name.startswith("gaelp key ")][-_KEPT_KEYS:]
        others = [label for label, name in row.labels if not name.startswith("gaelp key ")]
        return [*({"id": label} for label in (*others, *keys)), {"name": key_label(self._key)}]

    def _cents(self, micros: Micros, what: str) -> int:
        if self._account.currency in _WITHOUT_CENTS:
            raise Refused(f"Meta counts {self._account.currency} in whole units, which GAELP does not support: use an"
                          " account in a currency with cents")  # fmt: skip
        if micros <= 0 or micros % CENT_MICROS:
            raise Refused(f"{what} is {micros} micros; Meta takes whole cents above 0: a multiple of {CENT_MICROS}")
        return micros // CENT_MICROS

    def _ad_sets(self, row: MetaCampaignRow) -> list[AdSetRow]:
        return read_ad_sets(self._connection, [row.id])[row.id]

    def _published(self, row: MetaCampaignRow) -> list[PublishedAdvert]:
        return [each for each in read_published(self._connection) if each.campaign == row.id]

    def _create_ad_set(self, row: MetaCampaignRow, target: str) -> None:
        self._connection.change(
            self._connection.account,
            "adsets",
            name=target,
            campaign_id=row.id,
            status="ACTIVE",
            billing_event="IMPRESSIONS",
            optimization_goal="LINK_CLICKS",
            bid_amount=_FIRST_BID_CENTS,
            targeting=self._targeting(target),
        )

    def _targeting(self, target: str) -> dict[str, Any]:
        """People in the configured countries with the interests that the target's name lists, separated by |."""
        texts = dict.fromkeys(text.strip() for text in target.split("|") if text.strip())
        return {
            "geo_locations": {"countries": list(self._connection.settings.countries)},
            "flexible_spec": [{"interests": [self._interest(text) for text in texts]}],
            "targeting_automation": {"advantage_audience": 0},
        }

    def _interest(self, text: str) -> dict[str, str]:
        interests = self._connection.read("search", type="adinterest", q=text)["data"]
        for interest in interests:
            if interest["name"].casefold() == text.casefold():
                return {"id": interest["id"], "name": interest["name"]}
        near = ", ".join(interest["name"] for interest in interests[:3]) or "none like it"
        raise Refused(f"Meta knows no interest {text!r} (it knows {near}): rename the target")

    def _tidied(self, row: MetaCampaignRow, created: Iterable[str]) -> dict[str, AdSetRow]:
        """The ad sets by name; of those created now that a doubled request made twice, the first stays."""
        kept: dict[str, AdSetRow] = {}
        for ad_set in self._ad_sets(row):
            if ad_set.name in kept and ad_set.name in created:
                self._connection.delete(ad_set.id)
            else:
                kept.setdefault(ad_set.name, ad_set)
        return kept

    def _create_creative(self, row: MetaCampaignRow, creative: Creative, digest: str) -> PublishedAdvert:
        if not creative.landing_url:
            raise Refused(f"creative {creative.id} has no landing_url, and an advert leads somewhere: give one")
        texts = {"name": creative.headline, "message": creative.description, "caption": creative.display_url}
        link_data = {"link": creative.landing_url, **{name: text for name, text in texts.items() if text}}
        made = self._connection.change(
            self._connection.account,
            "adcreatives",
            name=creative_name(row.id, digest),
            object_story_spec={"page_id": self._connection.settings.page_id, "link_data": link_data},
            adlabels=[{"name": key_label(self._key)}],
        )
        return PublishedAdvert(str(made["id"]), row.id, digest, (key_label(self._key),))

    def _show(self, ad_sets: Iterable[AdSetRow], adverts: list[PublishedAdvert]) -> None:
        """Put the adverts into the ad sets, except where they are already."""
        for ad_set in ad_sets:
            shown = {ad["creative"]["id"] for ad in self._connection.read_all(ad_set.id, "ads", fields="creative")}
            for advert in adverts:
                if advert.id not in shown:
                    self._connection.change(
                        self._connection.account,
                        "ads",
                        name=advert.creative_hash[:12],
                        adset_id=ad_set.id,
                        creative={"creative_id": advert.id},
                        status="ACTIVE",
                    )

    # What is undone

    @contextmanager
    def _undone_if_refused(self, undo: Callable[[], None]) -> Iterator[None]:
        """Undo the first steps of a change whose later step was refused, so that a rejected change has no effect.

        What to undo is searched for: an error may be the answer to a step that was carried out.
        """
        try:
            yield
        except Exception as refusal:
            if isinstance(refusal, Refused) or is_refusal(refusal):
                self._try_to(undo, refusal)
            raise

    @staticmethod
    def _try_to(undo: Callable[[], None], refusal: Exception) -> None:
        try:
            undo()
        except Exception as problem:  # noqa: BLE001 - raised as text, which leaves the outcome unknown
            raise GaelpError(
                f"{describe(refusal)}; and what was made before it could not be deleted ({describe(problem)}): look at"
                " the campaign in the Ads Manager"
            ) from None

    def _withdraw(self, row: MetaCampaignRow, digest: str) -> None:
        """Delete an advert of this key with the ads that show it."""
        adverts = [each for each in self._published(row) if each.creative_hash == digest]
        own = {advert.id for advert in adverts if key_label(self._key) in advert.keys}
        for ad in self._connection.read_all(row.id, "ads", fields="creative"):
            if ad["creative"]["id"] in own:
                self._connection.delete(ad["id"])
        for advert in own:
            self._connection.delete(advert)

    def _remove_ad_sets(self, row: MetaCampaignRow, names: list[str]) -> None:
        for ad_set in self._ad_sets(row):
            if ad_set.name in names:
                self._connection.delete(ad_set.id)
