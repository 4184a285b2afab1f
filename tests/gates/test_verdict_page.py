"""The page of a verdict as one HTML file: pictures inside, nothing from elsewhere."""

from datetime import UTC, datetime

from gaelp.gates import Evidence, judge, load_gate
from gaelp.gates.verdict_context import BiddersTable, ComparedBidder, Picture, VerdictContext
from gaelp.gates.verdict_page import verdict_html

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


def test_pictures_and_bidders_are_on_the_page_and_names_cannot_bring_markup():
    gate = load_gate("history")
    evidence = Evidence(run_id="r", agent="<b>a</b>", learned=True, config_hash="c", measured_at=NOW, metrics={})
    context = VerdictContext(
        bidders=(ComparedBidder(name="logged bids", meaning="The log.", reward=1.2, lower_95=None, upper_95=None),),
        bidders_table=BiddersTable(title="On the log", measure="value per dollar", text="Best first."),
        pictures=(Picture(title="By day", text="Look for [gaps](http://elsewhere).", png=b"png"),),
    )
    page = verdict_html(judge(gate, evidence, NOW), context)
    assert page.startswith("<!doctype html>")
    assert page.count('<img src="data:image/png;base64,') == 2  # the rules, and the one of the context
    assert "<th>value per dollar</th>" in page
    assert "<td>1.2</td>" in page
    assert "<b>a</b>" not in page
    assert 'href="http' not in page
