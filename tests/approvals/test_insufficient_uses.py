def test_a_use_is_described_with_its_row_its_approvers_and_what_it_lacked(office, store):
    action = office.action_with(subject="limit acc")
    weak = office.policy_with(quorum=1, roles=(), at_least={})
    store.request(action)
    store.submit(office.decided("bob", action), weak, office.trust)
    store.consume(action, weak, office.trust, consumer="one")
    [use] = store.insufficient_uses(lambda _: office.policy, office.trust)
    assert str(use) == (
        "row 2: release 'limit acc' was done with the approval of bob under a policy that asked for 1; the policy in"
        " force here asks for 1 more of 2 approvers, 1 more with the role finance"
    )


def test_uses_in_the_sandbox_are_not_judged_again(office, store):
    action = office.action_with(world="sandbox")
    weak = office.policy_with(quorum=1, roles=(), at_least={}, sandbox=True)
    store.request(action)
    store.submit(office.decided("bob", action), weak, office.trust)
    store.consume(action, weak, office.trust, consumer="one")
    assert store.insufficient_uses(lambda _: office.policy, office.trust) == ()
