from flows.environment import for_client, for_terminal, prefect_home, settle

URL = "http://127.0.0.1:4999/api"


def test_where_things_are_and_how_to_log_in_is_fixed_and_the_rest_is_the_users(tmp_path):
    environ = {"PREFECT_API_URL": "http://team/api", "PREFECT_LOGGING_LEVEL": "DEBUG", "PREFECT_API_AUTH_STRING": "x"}
    settle(environ, for_client(tmp_path, URL, "of-the-home") | for_terminal(tmp_path))
    assert environ["PREFECT_API_URL"] == URL
    assert environ["PREFECT_API_AUTH_STRING"] == "of-the-home"
    assert environ["PREFECT_SERVER_ALLOW_EPHEMERAL_MODE"] == "false", "Prefect starts no open server by itself"
    assert environ["PREFECT_LOGGING_LEVEL"] == "DEBUG", "what the user set stays"
    assert environ["PREFECT_RESULTS_DEFAULT_SERIALIZER"] == "json"
    assert environ["GAELP_HOME"] == str(tmp_path)
    assert prefect_home(tmp_path).stat().st_mode & 0o077 == 0
