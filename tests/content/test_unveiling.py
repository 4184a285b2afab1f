import time

import pytest

from gaelp.content.unveiling import as_written, decode, is_still_encoded, part_words, readings_of, unmark


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Cas&#105;no", "Casino"),
        ("Cas&#x69;no", "Casino"),
        ("Cas&#105no", "Casino"),
        ("fish &amp; chips", "fish & chips"),
        ("Cas&amp;#105;no", "Casino"),
        ("Cas<b>ino</b>", "Casino"),
        ("Cas<!-- x -->ino", "Casino"),
        ("C%61sino", "Casino"),
        ("C%2561sino", "Casino"),
        ("caf%C3%A9", "café"),
        ("C\\u0061s\\x69no", "Casino"),
        ("\\ud83d alone", "\\ud83d alone"),
        ("%u0063asino", "casino"),
        ("\\u{63}as\\x{69}no", "casino"),
        ("\\U00000063asino", "casino"),
        ("\\u{d83d} and \\u{ffffffff} alone", "\\u{d83d} and \\u{ffffffff} alone"),
        ("C%252525252561sino", "Casino"),
        ("Cas&amp;amp;amp;amp;amp;#105;no", "Casino"),
        ("50% off, 100%acrylic, 10%-20%", "50% off, 100%acrylic, 10%-20%"),
        ("M&S, R&D; I <3 bread, 5 < 6 > 4", "M&S, R&D; I <3 bread, 5 < 6 > 4"),
        ("", ""),
    ],
)
def test_markup_and_encodings_are_undone_and_plain_signs_stay(text, plain):
    assert decode(as_written(text)).text == plain


def test_what_is_encoded_more_often_than_is_undone_says_so():
    assert not is_still_encoded("C%" + "25" * 8 + "61sino, 100%acrylic, \\ud83d")
    assert is_still_encoded("C%" + "25" * 20 + "61sino")


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("cas[b]ino[/b]", "casino"),
        ("cas[url=x]ino[/url]", "casino"),
        ("[cas](https://a.example/x)ino", "casino"),
        ("cas\\textbf{ino}", "casino"),
        ("cas{x}i{{y}}n${z}o", "casino"),
        ("(20% off) 2 for 1* [12] *terms apply", "(20% off) 2 for 1* [12] *terms apply"),
    ],
)
def test_markup_in_brackets_is_dropped(text, plain):
    assert unmark(as_written(text)).text == plain


@pytest.mark.parametrize("text", ["\\143asino", "\\63 asino", "\\000063asino", "=63asino", "=63=61=73=69=6E=6F"])
def test_an_escape_that_may_be_chance_is_one_more_reading(text):
    assert decode(as_written(text)).text == text
    assert "casino" in [reading.text for reading in readings_of(text)]


@pytest.mark.parametrize(
    ("text", "parted"),
    [
        ("BuyViagraNow", "Buy Viagra Now"),
        ("BUYViagra", "BUY Viagra"),
        ("AR-15Now", "AR-15 Now"),
        ("OnlineCasino, PayPal", "Online Casino, Pay Pal"),
        ("Plain words IN CAPITALS", "Plain words IN CAPITALS"),
    ],
)
def test_words_joined_by_capitals_are_parted(text, parted):
    assert part_words(as_written(text)).text == parted


@pytest.mark.parametrize(
    ("text", "word", "excerpt"),
    [
        ("my Cas&#105;no here", "Casino", "Cas&#105;no"),
        ("my &#99;asin&#111; here", "casino", "&#99;asin&#111;"),
        ("my cas<b>in</b>o here", "casino", "cas<b>in</b>o"),
        ("my c%2561sin%256f here", "casino", "c%2561sin%256f"),
        ("GetOnlineC%61sinoNow", "Online Casino", "OnlineC%61sino"),
    ],
)
def test_a_word_found_in_a_reading_is_shown_as_it_was_written(text, word, excerpt):
    [reading] = [last for last in readings_of(text)[-1:] if word in last.text]
    place = reading.text.index(word)
    start, end = reading.span(place, place + len(word))
    assert text[start:end] == excerpt


def test_a_plain_text_has_one_reading():
    assert [reading.text for reading in readings_of("Fresh bread, 20% off")] == ["Fresh bread, 20% off"]


@pytest.mark.parametrize(
    "bait",
    ["<", "<a", "&#", "&a", "%4", "%41", "\\u00", "aA", "<a href=", "[a", "[a](", "{", "\\ab{", "=6", "\\63 ", "%25"],
)
def test_no_text_makes_the_readings_slow(bait):
    started = time.process_time()
    readings_of(bait * (50_000 // len(bait)))
    assert time.process_time() - started < 2
