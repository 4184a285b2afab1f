"""Front 1 of the local ad platform: the Google Ads API v26 over TLS gRPC."""
