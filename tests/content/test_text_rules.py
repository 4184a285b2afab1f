"""Rules are applied to every text that people read."""


def test_a_forbidden_term_is_seen_in_every_text_people_read(checker, advert):
    for field in ("headline", "description", "call_to_action", "display_url", "landing_text"):
        creative = advert(**{field: f"{getattr(advert(), field)} casino"})
        found = [finding for finding in checker.check(creative).findings if finding.rule == "gambling"]
        assert [(one.field, one.excerpt, one.severity) for one in found] == [(field, "casino", "block")]


def test_a_term_cut_by_a_space_waits_for_a_person(checker, advert):
    verdict = checker.check(advert(headline="Our cas ino opens"))
    assert [(one.excerpt, one.severity) for one in verdict.findings if one.rule == "gambling"] == [
        ("cas ino", "review")
    ]
