"""Helpers of the API token tests."""

from tests.support.proxies import with_api_token

BODY = {"name": "ci", "scopes": ["policy:read"]}
INVALID = (401, "not-authenticated")


def works(token, **headers):
    return with_api_token(token, **headers).get("/groups").status_code == 200
