"""Files for users of the official client: google-ads.yaml, and a service account with tokens from the sandbox.

Clients ask the token server of their credentials for an access token before their first call. The service account made
here names a server of the sandbox, so that nothing leaves this machine; its key is worth nothing anywhere else.
"""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from fastapi import FastAPI

from gaelp.config.write import write_texts
from gaelp.sandbox.http_serving import listen_on, serving_app

__all__ = ["SETTINGS_NAME", "serving_tokens", "write_client_settings"]

SETTINGS_NAME = "google-ads.yaml"
_KEY_NAME = "google-ads-service-account.json"
_EMAIL = "script@sandbox.example"
_TOKEN_SECONDS = 3600


def write_client_settings(folder: Path, *, port: int, token_port: int, manager: str) -> Path:
    """Write google-ads.yaml and the service account's file; the path of the first."""
    key_path, path = folder / _KEY_NAME, folder / SETTINGS_NAME
    account = {
        "type": "service_account",
        "client_email": _EMAIL,
        "private_key_id": "sandbox",
        "private_key": _stored_key(key_path),
        "token_uri": f"http://127.0.0.1:{token_port}/token",
    }
    lines = (
        "# For the sandbox; set GRPC_DEFAULT_SSL_ROOTS_FILE_PATH to its certificate.pem before you start Python.",
        f"endpoint: localhost:{port}",
        f'login_customer_id: "{manager}"',
        "developer_token: sandbox",
        f"json_key_file_path: {json.dumps(str(key_path))}",
        "use_proto_plus: true",
    )
    write_texts({key_path: json.dumps(account, indent=2) + "\n", path: "\n".join(lines) + "\n"})
    return path


def _stored_key(path: Path) -> str:
    """The private key of an earlier start, or a new one."""
    if path.exists():
        return str(json.loads(path.read_text(encoding="utf-8"))["private_key"])
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return key.private_bytes(encoding, form, serialization.NoEncryption()).decode()


@contextmanager
def serving_tokens() -> Iterator[int]:
    """Give an access token to whoever asks, on a free port of this machine, beside the block; the port."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)

    @app.post("/token")
    def token() -> dict[str, str | int]:
        """Answer as Google's OAuth 2 server does."""
        return {"access_token": "sandbox", "token_type": "Bearer", "expires_in": _TOKEN_SECONDS}

    listener: socket.socket = listen_on(0, "Google access tokens")
    with listener, serving_app(app, listener):
        yield listener.getsockname()[1]
