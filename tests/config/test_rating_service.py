import pytest
from pydantic import ValidationError

from gaelp.config.rating_service import RatingService


@pytest.mark.parametrize(
    "changes",
    [
        {"endpoint": "ftp://host/v1"},
        {"endpoint": "host/v1"},
        {"endpoint": "https://me:hidden-pass@host/v1"},
        {"endpoint": "https://host/v1?key=hidden-pass"},
        {"endpoint": "https://host:99999/v1"},
        {"api_key": "hidden-pass\nnext"},
        {"api_key": "hidden-pass é"},
        {"timeout_seconds": 0},
        {"retries": -1},
        {"requests_max": 0},
    ],
)
def test_rating_service_with_unusable_settings_is_refused_without_showing_secrets(changes):
    with pytest.raises(ValidationError) as caught:
        RatingService(**({"endpoint": "https://host/v1", "model": "m"} | changes))
    assert "hidden-pass" not in str(caught.value)


def test_newline_at_the_end_of_a_key_is_dropped():
    service = RatingService(endpoint="https://host/v1/", model="m", api_key="key\n")
    assert service.api_key.get_secret_value() == "key"
    assert service.endpoint == "https://host/v1"
    assert "key" not in repr(service.api_key)
