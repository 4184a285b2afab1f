"""Words that an evader joins, wraps or spells around, and honest copy that looks like it."""

import pytest

from gaelp.content import Audience, load_policy
from gaelp.content.completeness import check_form

JOINED = ["OnlineCasino here", "BestCasinoBonus today", "BuyViagra", "BuyViagraNow", "BUYViagra", "#BuyGunsToday"]
INSIDE = ["viagranow", "buyguns", "Bestcasinobonus", "buygunsnow", "freecocaineshop", "howtomakemoneyfast", "buycialis"]
WRAPPED = ["Cas&#105;no", "Cas<b>ino</b>", "C%61sino", "casin&#111;", "Cas&amp;#105;no", "C%2561sino", "Cas\\u0069no"]
MARKED = ["cas[b]ino[/b]", "Cas[x]ino[/x]", "cas\\textbf{ino}", "\\143asino", "\\63 asino", "=63asino", "%u0063asino"]
MARKUP = [
    "Fresh <b>Bread</b>",
    "Fresh Bread &amp; Rolls",
    "Fresh %42read",
    "[b]Fresh[/b] Bread",
    "Fresh Br[x]ead",
    "**Fresh** Bread",
    "__Fresh__ Bread",
    "`Fresh` Bread",
    "\\textbf{Fresh} Bread",
    "Fresh {{bread}} and ${x}",
    "Fresh {KeyWord:Bread}",
    "Fresh %%bread%%",
    "Fresh [Bread](/bread)",
    "Fresh \\102read",
]
MONEY = """
Guaranteed 20% returns | Guaranteed 12 percent yield | Guaranteed 5% monthly returns | Guaranteed monthly income
We guarantee 20% returns | Guaranteed 500 profit | Returns of 20% guaranteed | Profits are guaranteed
Tax-free returns guaranteed | Risk-free returns guaranteed | Risk-free 20% returns | Zero risk daily profits
Never lose a penny | Make easy money | Make extra cash fast | Make money online fast
Earn up to $5000 a week | Make over 500 a day online | Earn 500 dollars a day | Make $500 every single day
Double your hard-earned money | Become a crypto millionaire | Get filthy rich fast
"""
HEALTH = """
Diabetes natural cure | Cancer can be cured | Miracle herbal pill | Heals over 50 diseases
Lose weight really fast | Lose weight in 10 days | Lose belly fat fast | Lose 30 lbs fast
Lose up to 9 kg in 10 days | Lose 10 stubborn pounds a week
"""
DOUBTFUL = """
Guaranteed fast results | Relief guaranteed | No harmful side effects | Guaranteed loan approval
Instant 24 hour approval | Guaranteed 4% a year
Quality guaranteed. Profits up | Lose weight. Fast. | Cassino | Beat Arthritis Stiffness
"""
HONEST = """
iPhone Cases From 9 | Sell It on eBay With Us | PlayStation Games by Post | YouTube Ads Explained
McDonald's Gift Ideas | Learn JavaScript at Home | GitHub, FedEx and BlackBerry | LinkedIn, WhatsApp, PayPal
Homes in Essex | Hotels in Scunthorpe | Analysis for Your Team | EssexAnalysis by Experts
Classic Cars | ClassicCocktailDresses | Our Cocktail Dresses | ExpertsExchange PenIsland
Monte Cassino Day Trips | Cassino, Italy: Day Trips | Via Granada by Train | A TopGun and a NailGun
Our 50% returns policy | Free returns guaranteed | Guaranteed 30-day returns | 30-day returns guaranteed
Save 10%-20% on 100%cotton | 20%acrylic, 80% wool | Fish & Chips, R&D; M&S | I <3 Bread, 5 < 6
A specialist for heroines | Ambient lamps, socialists | SecondHandJobs in Leeds | Book the best slots available
Earn instant cash back | Earn 500 points a day | Make up to 12 cups a day | Secures your diabetes kit
Double your storage space | Guaranteed next-day post | Guaranteed fit. Easy returns | Millionaire's shortbread
Spa: 49 per person per night | Non-slip, Non-toxic Mats | Costa de la Luz Villas | Fly LA to Las Vegas
Shotgun Start Golf Day | Roulette Wheels Restored | Gun Dog Training | Cigar Box Guitars
Magic Mushrooms Risotto Kit | [New] Bread (20% off) | Rolls: 2 for 1* | Bread. *Terms apply
Shirts in [S] [M] [L] | 1 inch=25mm, Bed\\Bath | Open 9.am to 5.pm | Sold until noon.In stock
M.Sc. and Ph.D. Gowns | Node.js for Beginners | Order at www.shop.example | Mail us at hi@shop.example
"""


@pytest.fixture(scope="module")
def policy():
    return load_policy()


def texts(block):
    return [text.strip() for line in block.strip().splitlines() for text in line.split("|")]


def rules(verdict):
    return {finding.rule for finding in verdict.findings}


@pytest.mark.parametrize("headline", [*JOINED, *INSIDE, *WRAPPED, *MARKED, *texts(MONEY), *texts(HEALTH)])
def test_an_evasion_is_blocked_and_quoted(checker, advert, headline):
    verdict = checker.check(advert(headline=headline))
    assert verdict.outcome == "block"
    [found] = [finding for finding in verdict.findings if finding.severity == "block"]
    assert found.field == "headline"
    assert headline[found.start : found.end] == found.excerpt != ""


@pytest.mark.parametrize("headline", texts(DOUBTFUL))
def test_a_doubtful_claim_with_words_in_between_waits_for_a_person(checker, advert, headline):
    assert checker.check(advert(headline=headline)).outcome == "review"


@pytest.mark.parametrize("headline", texts(HONEST))
def test_honest_copy_that_looks_like_an_evasion_is_allowed(checker, advert, headline):
    verdict = checker.check(advert(headline=headline))
    assert (verdict.outcome, rules(verdict)) == ("allow", set())


@pytest.mark.parametrize("text", MARKUP)
def test_markup_in_a_text_that_is_printed_as_it_is_waits_for_a_person(checker, advert, policy, text):
    for field in ("headline", "description", "call_to_action"):
        [found] = check_form(advert(**{field: text}), policy)
        assert (found.rule, found.field, found.severity) == ("markup", field, "review")
    assert checker.check(advert(landing_text=f"{advert().landing_text} {text}")).outcome == "allow"


def test_a_word_behind_brackets_is_seen_on_the_landing_page_too(checker, advert):
    verdict = checker.check(advert(landing_text=f"{advert().landing_text} cas[b]ino[/b]"))
    assert [(finding.rule, finding.excerpt) for finding in verdict.findings] == [("gambling", "cas[b]ino")]


@pytest.mark.parametrize("field", ["landing_text", "landing_url"])
def test_what_is_encoded_again_and_again_waits_for_a_person(checker, advert, field):
    verdict = checker.check(advert(**{field: f"{getattr(advert(), field)}/c%{'25' * 20}61sino"}))
    assert (verdict.outcome, rules(verdict)) == ("review", {"over-encoded"})


@pytest.mark.parametrize("headline", ["Online Cassino", "Cassino Bonus", "Casssino", "C4ssino"])
def test_a_casino_does_not_hide_behind_the_name_of_a_town(checker, advert, headline):
    assert checker.check(advert(headline=headline)).outcome == "block"


@pytest.mark.parametrize(
    ("path", "excerpt"),
    [
        ("casino", "casino"),
        ("c%61sino", "c%61sino"),
        ("OnlineCasino", "Casino"),
        ("x?topic=buy-guns", "buy-guns"),
        ("x#viagra", "viagra"),
    ],
)
def test_a_forbidden_term_in_the_landing_url_is_blocked(checker, advert, path, excerpt):
    verdict = checker.check(advert(landing_url=f"https://www.shop.example/{path}"))
    assert verdict.outcome == "block"
    assert [(finding.field, finding.excerpt) for finding in verdict.findings] == [("landing_url", excerpt)]


@pytest.mark.parametrize(
    "path",
    [
        "class-action/analysis?utm_source=essex",
        "p/455?gclid=Cj0KCQiA-9un_fa6.P--nx-LzD_Isd5",  # what looks like leetspeak here is chance
        "classic-cocktail-dresses?colour=wine%20red",
    ],
)
def test_an_honest_landing_url_is_allowed(checker, advert, path):
    assert checker.check(advert(landing_url=f"https://www.shop.example/{path}")).outcome == "allow"


def test_forbidden_interests_are_blocked_as_words_are(checker, advert):
    for interests, outcome in [
        (("food", "casino"), "block"),
        (("OnlineCasino",), "block"),
        (("food", "wine"), "allow"),
    ]:
        assert checker.check(advert(audience=Audience(min_age=18, interests=interests))).outcome == outcome
    verdict = checker.check(advert(audience=Audience(min_age=18, interests=("food", "casino"))))
    assert [(finding.field, finding.excerpt) for finding in verdict.findings] == [("audience.interests[1]", "casino")]
