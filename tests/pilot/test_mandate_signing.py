"""The mandate of a plan, put in force."""

from contextlib import closing
from datetime import UTC, datetime

import pytest

from gaelp.approvals import Trust, new_key
from gaelp.approvals.trust import Approver
from gaelp.authority.audit_records import open_approvals
from gaelp.authority.mandates import mandate_statuses, revoke_mandate, sign_mandate
from gaelp.authority.signatures import Signer
from gaelp.bootstrap import kill_switch
from gaelp.budget.ledger import AdAccount
from gaelp.budget.platform_budget import load_platform_terms
from gaelp.clock import ManualClock
from gaelp.errors import BadInput, Refused, WaitingForPerson
from gaelp.guard_bootstrap import create_books
from gaelp.pilot.mandate_signing import require_mandate

TERMS = load_platform_terms().of("google-ads")
ACCOUNT = AdAccount("local-run-1", "USD", "America/New_York")
SINCE = datetime(2020, 1, 1, tzinfo=UTC)


class Place:
    """A home with books, approvals and two people who are trusted."""

    def __init__(self, settings, plan, ledger):
        self.settings, self.plan, self.ledger = settings, plan, ledger
        self.store = open_approvals(settings)
        self.keys = [new_key("ann"), new_key("bob")]
        roles = (("finance",), ("marketing",))
        self.trust = Trust(
            approvers=tuple(
                Approver(name=key.name, public_key=key.public_key, roles=role, added_at=SINCE)
                for key, role in zip(self.keys, roles, strict=True)
            )
        )

    @property
    def stop(self):
        return kill_switch(self.settings).state()

    def require(self, world="sandbox", plan=None):
        given = (self.settings, world, self.ledger, self.store, plan or self.plan, TERMS, self.trust)
        return require_mandate(*given, stop=self.stop, options=" --config mine")

    def sign(self, mandate, key):
        signer = Signer(self.trust, key, "as planned")
        return sign_mandate(self.settings, self.ledger, self.store, mandate, signer, stop=self.stop)

    def states(self):
        statuses = mandate_statuses(self.settings, self.ledger, self.store, self.trust)
        return [(status.state, status.signed_by) for status in statuses]


@pytest.fixture
def place(tmp_path, account_parts):
    settings = account_parts.settings_of(tmp_path / "home")
    clock = ManualClock(datetime(2026, 10, 6, 12, tzinfo=UTC))
    with closing(create_books(settings, ACCOUNT, clock)) as ledger:
        yield Place(settings, account_parts.plan_of(settings), ledger)


def test_where_no_real_money_can_move_a_name_puts_it_in_force(place):
    mandate = place.require()
    assert place.states() == [("in force", ("local-pilot",))]
    assert place.require() == mandate  # resumed: the same one
    assert len(place.states()) == 1


def test_where_real_money_can_move_it_waits_for_people_and_says_which_command(place):
    with pytest.raises(WaitingForPerson) as waiting:
        place.require("live")
    [status] = mandate_statuses(place.settings, place.ledger, place.store, place.trust)
    command = f"`gaelp mandate sign {status.id[:12]} --key FILE --reason WHY --config mine`"
    assert command in str(waiting.value)
    assert status.state == "waiting"


def test_it_is_in_force_with_the_last_signature_and_not_before(place):
    with pytest.raises(WaitingForPerson):
        place.require("live")
    [status] = mandate_statuses(place.settings, place.ledger, place.store, place.trust)
    with pytest.raises(WaitingForPerson):
        place.sign(status.id, place.keys[0])
    with pytest.raises(WaitingForPerson):
        place.require("live")
    place.sign(status.id, place.keys[1])
    assert place.require("live") == status.id


def test_one_that_somebody_revoked_is_never_signed_again_by_a_program(place):
    revoke_mandate(place.ledger, place.store, place.require(), "enough")
    with pytest.raises(Refused, match=r"is revoked: revoked by .*: enough\. Have people propose"):
        place.require()


def test_a_changed_plan_is_another_mandate(place, account_parts):
    first = place.require()
    longer = place.plan.model_copy(update={"days": 8})
    assert place.require(plan=longer) != first


def test_nothing_is_signed_during_a_stop(place):
    kill_switch(place.settings).stop(by="ann", reason="drill")
    with pytest.raises(Refused, match="nothing was signed"):
        place.require()


def test_a_plan_whose_days_are_over_is_refused(place, account_parts):
    over = account_parts.plan_of(place.settings, first_day=datetime(2026, 9, 1, tzinfo=UTC).date())
    with pytest.raises(BadInput, match="last_day is 2026-09-07, today is 2026-10-06"):
        place.require(plan=over)
