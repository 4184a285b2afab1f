import asyncio
import threading

import pytest

from gaelp.checks.raised import ends_the_program, in_words, shown
from gaelp.observability import MASK, register_secrets


class Unprintable(Exception):
    def __str__(self):
        raise ValueError("no words")

    __repr__ = __str__


def test_what_was_raised_can_always_be_printed_and_holds_no_secret():
    register_secrets(["https://hooks.example/planted"])
    assert in_words(ValueError("POST https://hooks.example/planted")) == f"ValueError: POST {MASK}"
    assert in_words(Unprintable()) == "[a Unprintable that cannot be printed]"
    assert "Unprintable" in shown(Unprintable())


@pytest.mark.parametrize(
    ("error", "ends"), [(KeyboardInterrupt(), True), (SystemExit(), True), (asyncio.CancelledError(), False)]
)
def test_only_ctrl_c_and_an_exit_end_the_program_and_only_in_the_main_thread(error, ends):
    assert ends_the_program(error) is ends
    answers = []
    thread = threading.Thread(target=lambda: answers.append(ends_the_program(error)))
    thread.start()
    thread.join()
    assert answers == [False]
