"""Changes that end sessions opened at an identity provider: a logout there, and disabling the provider here."""

from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlencode, urlsplit

from tests.servers.site import Change, Site
from tests.support.openid_provider import OpenIdProvider
from tests.support.processes import request
from tests.support.servers import Headers, about


def _signed_in(site: Site) -> tuple[OpenIdProvider, str, dict[str, Any], Headers]:
    """Sign a new user in at a provider; return it, its slug and row, and a request with the session's token."""
    provider, slug, name = site.provider, site.new("corp"), site.new("person")
    row = site.admin.post("/identity-providers", **provider.settings(slug=slug, create_users=True))
    provider.subject = provider.sid = name
    provider.claims = {"preferred_username": name}
    start = request(site.control, f"/wall/oidc/{slug}")
    assert start.status == 303, start.body
    kept = SimpleCookie(start.header("Set-Cookie"))["gatewall.provider"].value
    back = urlsplit(provider.authorize(start.header("Location")))
    answer = request(site.control, f"{back.path}?{back.query}", {"Cookie": f"gatewall.provider={kept}"})
    assert answer.status == 303, answer.body
    cookies = SimpleCookie("\n".join(answer.all("Set-Cookie")).replace("\n", "; "))
    user = site.admin.get(f"/users?username={name}")["results"][0]
    site.admin.put(f"/users/{user['id']}", all_domains=True)
    return provider, slug, row, about(Service_Authorization=cookies["service.token"].value)


def backchannel_logout(site: Site) -> Change:
    provider, slug, _, question = _signed_in(site)
    token = provider.logout_token()

    def write() -> None:
        body = urlencode({"logout_token": token})
        answer = request(site.control, f"/wall/oidc/{slug}/logout", method="POST", body=body)
        assert answer.status == 200, answer.body

    return Change(write, question, 200, 401)


def provider_disabled(site: Site) -> Change:
    _, _, row, question = _signed_in(site)
    return Change(lambda: site.admin.put(f"/identity-providers/{row['id']}", enabled=False), question, 200, 401)


def provider_deleted(site: Site) -> Change:
    _, _, row, question = _signed_in(site)
    return Change(lambda: site.admin.delete(f"/identity-providers/{row['id']}"), question, 200, 401)


REVOCATIONS = [backchannel_logout, provider_disabled, provider_deleted]
