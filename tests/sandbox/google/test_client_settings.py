"""google-ads.yaml of the sandbox: the official client in its own process, with that file and the certificate."""

import os
import subprocess
import sys

from gaelp.sandbox.google.client_settings import SETTINGS_NAME, write_client_settings

SCRIPT = """
import sys
from google.ads.googleads.client import GoogleAdsClient
client = GoogleAdsClient.load_from_storage(sys.argv[1], version="v26")
for name in client.get_service("CustomerService").list_accessible_customers().resource_names:
    print(name)
"""


def test_a_script_runs_with_the_written_settings_and_the_certificate(sandbox):
    folder = sandbox.world.folder
    environment = {**os.environ, "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(folder / "certificate.pem")}
    command = [sys.executable, "-c", SCRIPT, str(folder / SETTINGS_NAME)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr
    assert f"customers/{sandbox.spec.manager_customer_id}" in run.stdout


def test_only_the_owner_may_read_them_and_the_key_stays(tmp_path):
    files = []
    for port in (1, 2):
        write_client_settings(tmp_path, port=port, token_port=9, manager="1")
        files.append({path.name: path.read_text() for path in tmp_path.iterdir()})
    assert all(path.stat().st_mode & 0o077 == 0 for path in tmp_path.iterdir())
    key = "google-ads-service-account.json"
    assert files[0][key] == files[1][key]
    assert "localhost:2" in files[1][SETTINGS_NAME]
