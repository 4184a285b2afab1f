"""Front 2 of the sandbox: the Meta Marketing API over HTTPS, for the unmodified official client."""
