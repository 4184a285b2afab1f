import pytest
from pydantic import ValidationError

from gaelp.config.alert_settings import EmailSettings, WebhookSettings

MAIL = {"host": "mail.example", "port": 587, "sender": "gaelp@example.com", "recipients": ["ops@example.com"]}


def test_a_mail_server_without_a_login_is_enough():
    assert EmailSettings(**MAIL).starttls


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"user": "ann"}, "user and password belong together"),
        ({"user": "ann", "password": "word", "starttls": False}, "in the clear"),
        ({"recipients": ["ops"]}, "no mail addresses"),
        ({"recipients": []}, "at least 1"),
        ({"port": 0}, "greater than or equal to 1"),
    ],
)
def test_settings_that_could_not_deliver_are_refused(changes, message):
    with pytest.raises(ValidationError, match=message):
        EmailSettings(**{**MAIL, **changes})


def test_the_address_of_a_webhook_is_not_shown():
    assert "hooks" not in repr(WebhookSettings(url="https://hooks.example/token"))
