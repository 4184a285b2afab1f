import os
import pwd

from gaelp.config.machine_user import machine_user


def test_the_user_is_named_as_the_system_does():
    assert machine_user() == pwd.getpwuid(os.getuid()).pw_name


def test_a_user_without_a_name_is_named_by_number(monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: 987_654)
    assert machine_user() == "user 987654"
