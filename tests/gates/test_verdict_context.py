from gaelp.gates.verdict_context import VerdictContext


def test_a_fact_is_added_after_the_others_and_changes_no_other_context():
    context = VerdictContext(facts=(("market", "cal"),))
    assert context.with_fact("looks", "the first").facts == (("market", "cal"), ("looks", "the first"))
    assert context.facts == (("market", "cal"),)
