"""Bugs to plant one by one: in a copy of the tree, replace `old` by `new` in `file`; the named test must then fail.

`old` occurs exactly once in its file. The list is data; `bench/planted_bugs.py` runs it.
"""

from typing import NamedTuple


class PlantedBug(NamedTuple):
    """One bug and the test that must catch it."""

    name: str
    file: str
    old: str
    new: str
    test: str


PLANTED_BUGS = (
    PlantedBug(
        "an approval holds a moment too long",
        "gaelp/approvals/approval_status.py",
        "around.at >= said.expires_at",
        "around.at > said.expires_at",
        "tests/approvals/test_authorise.py::test_an_approval_is_valid_until_it_expires_and_not_a_moment_longer",
    ),
    PlantedBug(
        "a used nonce is not looked up",
        "gaelp/approvals/approval_status.py",
        'return "it was used before" if said.nonce in around.used_nonces else None',
        "return None",
        "tests/approvals/test_authorise.py::test_a_used_nonce_is_refused",
    ),
    PlantedBug(
        "an approval fits any action",
        "gaelp/approvals/approval_status.py",
        "if approval.statement.action_hash != action_hash(around.action):",
        "if False:",
        "tests/approvals/test_authorise.py::test_an_approval_of_another_action_authorises_nothing",
    ),
    PlantedBug(
        "unsigned decisions count for real money",
        "gaelp/approvals/approval_status.py",
        'around.policy.sandbox and around.action.world == "sandbox"',
        "True",
        "tests/approvals/test_authorise.py::test_an_unsigned_approval_counts_only_in_a_sandbox",
    ),
    PlantedBug(
        "a revoked key still signs",
        "gaelp/approvals/approval_status.py",
        "if not key.trusted_at(said.issued_at):",
        "if not key.added_at <= said.issued_at:",
        "tests/approvals/test_authorise.py::test_a_revoked_key_is_refused_for_what_is_new_and_old_approvals_stay_verifiable",
    ),
    PlantedBug(
        "a revoked approver can still veto",
        "gaelp/approvals/approval_status.py",
        "        if key is not None and not key.trusted_at(around.at):\n            return ApprovalStatus",
        "        if False:\n            return ApprovalStatus",
        "tests/approvals/test_authorise.py::test_a_revoked_approver_cannot_veto_even_with_a_rejection_dated_before",
    ),
    PlantedBug(
        "a spoiled rejection is skipped",
        "gaelp/approvals/authorise.py",
        'if given.of("rejects") or given.of("void") or given.missing:',
        'if given.of("rejects") or given.missing:',
        "tests/approvals/test_authorise.py::test_a_rejection_that_was_tampered_with_does_not_vanish",
    ),
    PlantedBug(
        "one person counts as often as they sign",
        "gaelp/approvals/authorise.py",
        'who = {entry.approval.statement.approver for entry in statuses if entry.worth == "approves"}',
        'who = [entry.approval.statement.approver for entry in statuses if entry.worth == "approves"]',
        "tests/approvals/test_authorise.py::test_a_quorum_is_of_different_people",
    ),
    PlantedBug(
        "four eyes are fooled by a capital letter",
        "gaelp/approvals/approval_status.py",
        "said.approver.casefold() == around.action.requester.casefold()",
        "said.approver == around.action.requester",
        "tests/approvals/test_authorise.py::test_four_eyes_are_not_fooled_by_the_case_of_a_name",
    ),
    PlantedBug(
        "signatures mean the same in every domain",
        "gaelp/approvals/canonical.py",
        'return f"gaelp/{domain}/1\\n".encode("ascii") + canonical(value)',
        "return canonical(value)",
        "tests/approvals/test_keys.py::test_a_signature_holds_for_its_key_its_domain_and_its_value_only",
    ),
    PlantedBug(
        "a key given twice is not noticed as such",
        "gaelp/approvals/canonical.py",
        "            object_pairs_hook=_each_key_once,\n",
        "",
        "tests/approvals/test_canonical.py::test_a_key_given_twice_is_named_as_such",
    ),
    PlantedBug(
        "JSON may be written in any way",
        "gaelp/approvals/canonical.py",
        "if canonical(value) != raw:",
        "if False:",
        "tests/approvals/test_canonical.py::test_json_that_is_not_canonical_is_refused",
    ),
    PlantedBug(
        "two writers may begin at once",
        "gaelp/database/engine.py",
        '"BEGIN" if reading else "BEGIN IMMEDIATE"',
        '"BEGIN" if reading else "BEGIN"',
        "tests/approvals/test_store.py::test_a_second_writer_waits_until_the_first_is_done",
    ),
    PlantedBug(
        "a second consumer gets the same authorisation",
        "gaelp/approvals/store.py",
        "    if use[0] != consumer:",
        "    if False:",
        "tests/approvals/test_store.py::test_an_approved_action_is_used_once_and_told_in_the_audit_log",
    ),
    PlantedBug(
        "the tables are believed without the audit log",
        "gaelp/approvals/store.py",
        "            check_agreement(session, wanted)\n",
        "",
        "tests/approvals/test_store.py::test_a_use_taken_out_of_the_tables_does_not_make_an_approval_fresh",
    ),
    PlantedBug(
        "rows are not bound to the one before",
        "gaelp/approvals/audit.py",
        "if row.previous_hash != previous:",
        "if False:",
        "tests/approvals/test_audit.py::test_a_row_that_was_hashed_again_breaks_the_next_one",
    ),
    PlantedBug(
        "a log may lose its last row",
        "gaelp/approvals/audit_heads.py",
        "if said.seq >= len(rows):",
        "if said.seq > len(rows):",
        "tests/approvals/test_audit_heads.py::test_a_log_cut_short_is_whole_by_itself_and_denied_by_its_heads",
    ),
    PlantedBug(
        "anybody's signature makes a head",
        "gaelp/approvals/audit_heads.py",
        "        and AUDITOR in entry.roles\n",
        "",
        "tests/approvals/test_audit_heads.py::test_a_head_counts_only_from_a_key_that_was_an_auditors_then",
    ),
    PlantedBug(
        "a private key is readable and replaced",
        "gaelp/approvals/keys.py",
        "os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY",
        "os.O_WRONLY | os.O_CREAT, 0o644",
        "tests/approvals/test_keys.py::test_a_private_key_is_for_its_owner_alone_and_never_replaced",
    ),
    PlantedBug(
        "one key speaks for two names",
        "gaelp/approvals/trust.py",
        "if entry.public_key in seen_keys:",
        "if False:",
        "tests/approvals/test_trust.py::test_one_key_cannot_speak_for_two_names",
    ),
    PlantedBug(
        "who asks is not part of what is signed",
        "gaelp/approvals/action.py",
        'digest("action", action.model_dump(mode="json"))',
        'digest("action", action.model_dump(mode="json", exclude={"requester"}))',
        "tests/approvals/test_action.py::test_every_field_counts",
    ),
    PlantedBug(
        "an inconclusive gate can be approved",
        "gaelp/approvals/gate_decision.py",
        'if verdict.outcome != "pass":',
        'if verdict.outcome == "fail":',
        "tests/approvals/test_gate_decision.py::test_no_approval_replaces_a_pass",
    ),
    PlantedBug(
        "a forged decision in tables and log verifies",
        "gaelp/approvals/agreement.py",
        "            if not is_authentic(approval, request.action, trust, said.issued_at):",
        "            if False:",
        "tests/approvals/test_store.py::test_a_forged_decision_in_tables_and_log_is_neither_used_nor_verified",
    ),
    PlantedBug(
        "a use under a policy of one's own verifies",
        "gaelp/approvals/insufficient_uses.py",
        "        if given.missing:",
        "        if False:",
        "tests/approvals/test_store.py::test_a_use_under_a_weaker_policy_is_found_with_the_true_one",
    ),
    PlantedBug(
        "a log that was taken out is created again",
        "gaelp/database/database.py",
        "if gone and store.complete:",
        "if gone and store.complete and not create:",
        "tests/approvals/test_store.py::test_a_table_that_is_gone_is_not_made_anew",
    ),
    PlantedBug(
        "a stored use is believed as it is",
        "gaelp/approvals/store.py",
        "                check_granted(action, again, approvals, policy, trust)\n",
        "",
        "tests/approvals/test_stored_mutations.py::test_mutations_of_what_is_stored_are_all_seen_and_none_is_accepted",
    ),
    PlantedBug(
        "a use may outlast its approvals",
        "gaelp/approvals/agreement.py",
        "        or granted.expires_at > min(said[nonce].expires_at for nonce in granted.nonces)\n",
        "",
        "tests/approvals/test_store.py::test_a_use_that_nobody_approved_does_not_verify",
    ),
    PlantedBug(
        "a decision may be stored under any nonce",
        "gaelp/approvals/tables.py",
        "    if approval.statement.nonce != key:",
        "    if False:",
        "tests/approvals/test_stored_mutations.py::test_mutations_of_what_is_stored_are_all_seen_and_none_is_accepted",
    ),
    PlantedBug(
        "rows that belong to no request are not looked at",
        "gaelp/approvals/agreement.py",
        " UNION SELECT action_hash FROM approvals UNION SELECT action_hash FROM uses",
        "",
        "tests/approvals/test_agreement.py::test_a_row_that_belongs_to_no_request_is_noticed",
    ),
    PlantedBug(
        "a use of a rejected action verifies",
        "gaelp/approvals/agreement.py",
        "if any(_vetoed(approval, request, trust, use[1]) for approval in approvals):",
        "if False:",
        "tests/approvals/test_agreement.py::test_a_use_of_a_rejected_action_does_not_verify_even_if_the_log_has_it",
    ),
    PlantedBug(
        "approvals of a key revoked on another machine are used up",
        "gaelp/approvals/store.py",
        "            check_agreement(session, wanted)\n            trust = read_logged_keys(session).apply(trust)\n",
        "            check_agreement(session, wanted)\n",
        "tests/approvals/test_revocations.py::test_approvals_of_a_key_that_is_revoked_in_the_log_alone_do_not_authorise",
    ),
    PlantedBug(
        "a revoked key comes back when another machine trusts it",
        "gaelp/approvals/revocations.py",
        "        if entry.public_key in self._revoked_keys:",
        "        if False:",
        "tests/approvals/test_revocations.py::test_a_revoked_key_that_is_trusted_later_on_another_machine_never_counts",
    ),
    PlantedBug(
        "the roles of the looser policy count",
        "gaelp/approvals/policy.py",
        "    common = tuple(sorted({*first} & {*second}))",
        "    common = tuple(sorted({*first} | {*second}))",
        "tests/approvals/test_policy.py::test_a_policy_that_asks_for_more_in_any_respect_is_the_stricter_one",
    ),
    PlantedBug(
        "an approver may have any role",
        "gaelp/authority/trust_changes.py",
        "        if role not in known:",
        "        if False:",
        "tests/authority/test_trust_changes.py::test_a_key_is_trusted_with_a_role_of_the_policy_and_revoked_for_good",
    ),
)
