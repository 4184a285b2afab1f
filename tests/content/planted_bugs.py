"""Bugs to plant one by one in gaelp/content and its data, each with the test that has to catch it.

A script copies the tree, replaces `old` (which occurs once in `file`) by `new`, runs `test` and expects it to fail.
"""

from typing import NamedTuple


class PlantedBug(NamedTuple):
    """One change for the worse, and the test that must not survive it."""

    name: str
    file: str
    old: str
    new: str
    test: str


PLANTED_BUGS = (
    PlantedBug(
        name="a failing part of the check is skipped",
        file="gaelp/content/check.py",
        old="                draft.findings.append(_failure(name, problem))\n",
        new="                continue\n",
        test="tests/content/test_check.py::test_an_exception_in_any_part_means_block_and_the_other_parts_still_speak",
    ),
    PlantedBug(
        name="a scorer that cannot be loaded leaves no finding",
        file="gaelp/content/check.py",
        old='            draft.findings.append(_failure("profanity", problem, severity="review"))\n',
        new="",
        test="tests/content/test_check.py::test_a_scorer_that_cannot_be_loaded_means_review",
    ),
    PlantedBug(
        name="review wins over block",
        file="gaelp/content/verdict.py",
        old='    if "block" in severities:\n        return "block"\n    return "review" if severities else "allow"\n',
        new='    if "review" in severities:\n        return "review"\n    return "block" if severities else "allow"\n',
        test="tests/content/test_check.py::test_a_creative_that_is_nothing_but_a_name_is_blocked",
    ),
    PlantedBug(
        name="an unknown age counts as adult",
        file="gaelp/content/text_rules.py",
        old="rule.allowed_from_age is None or min_age is None or min_age < rule.allowed_from_age",
        new="rule.allowed_from_age is None or (min_age is not None and min_age < rule.allowed_from_age)",
        test="tests/content/test_check.py::test_alcohol_is_for_an_audience_known_to_be_adult",
    ),
    PlantedBug(
        name="invisible characters stay",
        file="gaelp/content/folding.py",
        old='_HIDDEN_CATEGORIES = ("Cf", "Mn", "Me")',
        new='_HIDDEN_CATEGORIES = ("Mn", "Me")',
        test="tests/content/test_folding.py::test_a_text_is_folded_to_what_the_eye_reads",
    ),
    PlantedBug(
        name="the excerpt ends one character early",
        file="gaelp/content/folding.py",
        old="self.origins[start], self.origins[end - 1] + 1",
        new="self.origins[start], self.origins[end - 1]",
        test="tests/content/test_terms.py::test_a_term_is_found_as_written_and_in_disguise",
    ),
    PlantedBug(
        name="look-alikes are looked up after case is folded only",
        file="gaelp/content/folding.py",
        old="    if character in shapes:\n",
        new="    if character in shapes and character.islower():\n",
        test="tests/content/test_folding.py::test_a_text_is_folded_to_what_the_eye_reads",
    ),
    PlantedBug(
        name="a term may begin in the middle of any word",
        file="gaelp/content/terms.py",
        old="        begins = folded.places if term.inside_words else folded.word_starts\n",
        new="        begins = folded.places\n",
        test="tests/content/test_terms.py::test_honest_words_do_not_alarm",
    ),
    PlantedBug(
        name="an exception anywhere silences the whole text",
        file="gaelp/content/terms.py",
        old="any(start <= match.start and match.end <= end for start, end in innocent)",
        new="innocent",
        test="tests/content/test_terms.py::test_an_exception_covers_only_the_term_inside_it",
    ),
    PlantedBug(
        name="digits are always read as letters",
        file="gaelp/content/terms.py",
        old="    return digits <= letters * (",
        new="    return True or digits <= letters * (",
        test="tests/content/test_terms.py::test_honest_words_do_not_alarm",
    ),
    PlantedBug(
        name="the case forgets the creative, so that an edit keeps its approval",
        file="gaelp/content/verdict.py",
        old="json.dumps([creative_hash, texts])",
        new='json.dumps(["", texts])',
        test="tests/content/test_review_queue.py::test_an_edited_creative_needs_a_new_decision",
    ),
    PlantedBug(
        name="the case forgets the findings",
        file="gaelp/content/verdict.py",
        old="json.dumps([creative_hash, texts])",
        new="json.dumps([creative_hash, []])",
        test="tests/content/test_review_queue.py::test_a_finding_that_nobody_has_seen_needs_a_new_decision",
    ),
    PlantedBug(
        name="a case can be decided again",
        file="gaelp/content/review_queue.py",
        old="            if case.decision is not None:\n",
        new="            if case.decision is not None and case.decision.who == who:\n",
        test="tests/content/test_review_queue.py::test_a_case_is_decided_once",
    ),
    PlantedBug(
        name="a rejection allows",
        file="gaelp/content/review_queue.py",
        old='        outcome = "allow" if decision.choice == "approve" else "block"\n',
        new='        outcome = "allow" if decision.choice else "block"\n',
        test="tests/content/test_review_queue.py::test_a_rejected_creative_is_blocked",
    ),
    PlantedBug(
        name="a host that merely ends like an allowed one is at home",
        file="gaelp/content/destination.py",
        old='host.endswith(f".{domain}")',
        new="host.endswith(domain)",
        test="tests/content/test_destination.py::test_an_advert_leads_where_it_says_and_stays_at_home",
    ),
    PlantedBug(
        name="only the text as written is searched",
        file="gaelp/content/text_rules.py",
        old="for reading in readings_of(text)\n",
        new="for reading in readings_of(text)[:1]\n",
        test="tests/content/test_evasions.py::test_an_evasion_is_blocked_and_quoted",
    ),
    PlantedBug(
        name="a click id in the landing URL is read by eye",
        file="gaelp/content/text_rules.py",
        old="look_alikes, by_eye=False)",
        new="look_alikes, by_eye=True)",
        test="tests/content/test_evasions.py::test_an_honest_landing_url_is_allowed",
    ),
    PlantedBug(
        name="an address inside an address is not decoded",
        file="gaelp/content/destination.py",
        old='decode(as_written(f"{parts.path}?{parts.query}#{parts.fragment}")).text',
        new='f"{parts.path}?{parts.query}#{parts.fragment}"',
        test="tests/content/test_destination.py::test_an_address_that_may_lead_elsewhere_or_can_be_changed_on_the_way_waits_for_a_person",
    ),
    PlantedBug(
        name="a foreign address in the text is at home",
        file="gaelp/content/links.py",
        old="if host is not None and not any(is_within(host, domain) for domain in home):",
        new="if host is not None and not home:",
        test="tests/content/test_links.py::test_a_foreign_address_in_the_text_is_found",
    ),
    PlantedBug(
        name="an address in the text is not decoded",
        file="gaelp/content/links.py",
        old="    for reading in (written, decode(written)):\n",
        new="    for reading in (written,):\n",
        test="tests/content/test_links.py::test_a_foreign_address_in_the_text_is_found",
    ),
    PlantedBug(
        name="a landing address needs no scheme",
        file="gaelp/content/destination.py",
        old="    if host and not re.match(",
        new="    if not host and not re.match(",
        test="tests/content/test_destination.py::test_an_advert_leads_where_it_says_and_stays_at_home",
    ),
    PlantedBug(
        name="brackets inside a word hide it",
        file="gaelp/content/unveiling.py",
        old="decoded, unmark(decoded), ",
        new="decoded, ",
        test="tests/content/test_evasions.py::test_an_evasion_is_blocked_and_quoted",
    ),
    PlantedBug(
        name="a full stop between two words of a term is not seen",
        file="gaelp/content/terms.py",
        old='            form = "split" if _holds_full_stop(match, groups) else form\n',
        new="",
        test="tests/content/test_evasions.py::test_a_doubtful_claim_with_words_in_between_waits_for_a_person",
    ),
    PlantedBug(
        name="the label of a language is believed",
        file="gaelp/content/language.py",
        old="        if likeliest != own and counts[likeliest] >= _FOREIGN_WORDS_MIN:\n",
        new="        if own not in counts and counts[likeliest] >= _FOREIGN_WORDS_MIN:\n",
        test="tests/content/test_language.py::test_another_language_under_the_name_of_english_waits_for_a_person",
    ),
    PlantedBug(
        name="the classifier is shown the text as written only",
        file="gaelp/content/profanity.py",
        old="    return judged, *plain_readings(judged, look_alikes)\n",
        new="    return (judged,)\n",
        test="tests/content/test_profanity.py::test_leetspeak_that_the_classifier_misses_is_seen_in_its_plain_reading",
    ),
    PlantedBug(
        name="a missing field goes unnoticed",
        file="gaelp/content/completeness.py",
        old="        if not getattr(creative, field).strip():\n",
        new="        if getattr(creative, field) is None:\n",
        test="tests/content/test_completeness.py::test_a_missing_field_is_never_allowed",
    ),
    PlantedBug(
        name="a NaN score passes",
        file="gaelp/content/profanity.py",
        old="    if not all(0 <= score <= 1 for score in scores):",
        new="    if any(score < 0 or score > 1 for score in scores):",
        test="tests/content/test_check.py::test_a_scorer_that_fails_or_talks_nonsense_means_block",
    ),
    PlantedBug(
        name="a score alone decides",
        file="gaelp/content/check.py",
        old="        draft.findings += [finding for finding in findings if finding.field in named]\n",
        new="        draft.findings += findings if named is not None else []\n",
        test="tests/content/test_families.py::test_a_score_alone_neither_blocks_nor_sends_to_review",
    ),
    PlantedBug(
        name="an advertiser's own name excuses every rule",
        file="gaelp/content/text_rules.py",
        old="own_marks if rule.category in _READS_OWN_MARKS else ())",
        new="own_marks if rule.category or _READS_OWN_MARKS else ())",
        test="tests/content/test_families.py::test_the_advertisers_own_name_is_read_whole_and_excuses_nothing_else",
    ),
    PlantedBug(
        name="an innocent word is any character",
        file="gaelp/content/terms.py",
        old='    return "[a-z]{2,}" if word == "_"',
        new='    return ".*" if word == "_"',
        test="tests/content/test_families.py::test_an_innocent_phrase_may_have_alternatives_and_any_word",
    ),
)
