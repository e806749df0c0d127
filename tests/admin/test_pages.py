"""Every admin page complies with the content security policy and contains no secret."""

import re
from datetime import timedelta

import pytest
from django.conf import settings
from django.contrib import admin
from django.contrib.staticfiles import finders
from django.utils import timezone

from accounts.api_tokens import services as api_tokens
from accounts.identity_providers import services as providers
from accounts.models import Passkey, TotpDevice, User
from accounts.sign_in import login
from accounts.visitor import Visitor
from audit.models import SecurityEvent
from gatewall.policy import system_settings
from licensing import services as licensing
from policies import services as policies
from policies.access_rules.services import create_access_rule
from policies.document.applying import apply
from policies.document.reading import read
from policies.grants.services import create_grant
from policies.grants.share_links import issue_share_link
from policies.groups.services import create_group
from policies.lists import subscriptions
from policies.models import DevicePass, Expectation
from policies.rules.builtin import seed_waf_rules
from tests.admin.conftest import ADMIN
from tests.support.proxies import PASSWORD
from webhooks import services as webhooks
from webhooks.models import Mail

INLINE = re.compile(r"<script(?![^>]*\ssrc=)[^>]*>|<style|\sstyle=|\son[a-z]+=|javascript:", re.IGNORECASE)
OUTSIDE = re.compile(r"""(?:src|href|action)=["'](?:https?:)?//""", re.IGNORECASE)


@pytest.fixture
def rows(alice, bob):
    """Create one row of every kind; return the rows and all their secrets."""
    visitor = Visitor(client_ip="198.51.100.7", user_agent="browser")
    session = login.sign_in("bob", PASSWORD, flow=login.GUARD, visitor=visitor, at=bob.created_at)
    domain = policies.register_domain(actor="test", name="office.example", access="authenticated")
    license_, license_token = licensing.issue_license(actor="test", name="robot", authorized_domains=[domain])
    git_token, git_text = licensing.issue_git_token(actor="test", user_id=bob.pk, name="laptop", expires_at=None)
    app_token, app_text = licensing.issue_app_token(
        actor="test", user_id=bob.pk, name="calendar", expires_at=None, all_domains=True
    )
    api_token, api_text = api_tokens.issue(maker=alice, name="ci", scopes=["policy:read"])
    ends = timezone.now() + timedelta(hours=1)
    share_link, share_text = issue_share_link(actor="test", name="Anna", domain=domain, expires_at=ends)
    seed_waf_rules(actor="seed")
    webhook, webhook_secret = webhooks.create_webhook(actor="test", name="pager", url="https://receiver.example")
    kinds = [
        alice,
        bob,
        domain,
        license_,
        git_token,
        app_token,
        api_token,
        policies.block_network(actor="test", network="203.0.113.0/24"),
        policies.allow_network(actor="test", network="198.51.100.7", domain=domain),
        policies.block_country(actor="test", country_code="DE"),
        policies.create_waf_rule(actor="test", name="custom", pattern="x"),
        create_group(actor="test", name="family", authorized_domains=[domain]),
        create_access_rule(actor="test", name="api", access="public", paths=[{"match": "prefix", "value": "/api"}]),
        create_grant(actor="test", user=bob, domain=domain, expires_at=ends),
        share_link,
        DevicePass.objects.create(user=bob, domain=domain, address="198.51.100.7", program="Jellyfin", expires_at=ends),
        subscriptions.subscribe(actor="test", name="drop", url="https://lists.example/drop.txt"),
        expectation(),
        system_settings.change(contact="somebody", actor="alice"),
        SecurityEvent.objects.first(),
        providers.create_provider(
            actor="test", slug="corp", name="Corp", issuer="https://corp.example", client_id="x", client_secret="c0rp-s"
        ),
        webhook,
        webhooks.send_test(webhook, actor="test"),
        Mail.objects.create(kind="password-changed", user=bob, at=bob.created_at),
        TotpDevice.objects.create(
            user=bob, name="tablet", sealed_secret="s3aled", created_at=bob.created_at, confirmed_at=bob.created_at
        ),
        Passkey.objects.create(
            user=bob, name="phone", credential_id="id-of-key", public_key="cose-key", rp_id="a.example"
        ),
    ]
    secrets = [
        session.token.text,
        license_token.text,
        license_token.digest,
        git_text.text,
        app_text.text,
        app_text.digest,
        share_text.text,
        share_text.digest,
        git_text.digest,
        api_text.text,
        api_text.digest,
        webhook_secret,
        "c0rp-s",
        "id-of-key",
        "cose-key",
        "s3aled",
        webhook.sealed_secret,
        PASSWORD,
        *User.objects.values_list("password", flat=True),
        "argon2",
        settings.SECRET_KEY,
    ]
    return kinds, secrets


def expectation():
    document = b"version: 1\nexpect:\n- {name: closed, request: {client: 192.0.2.1, host: a.example}, effect: deny}\n"
    apply(read(document), actor="test")
    return Expectation.objects.get()


def paths(rows):
    """Yield the paths of all pages of every registered model."""
    yield from ("/", "/logout/", "/jsi18n/")
    for model in admin.site._registry:
        yield f"/{model._meta.app_label}/{model._meta.model_name}/"
        yield f"/{model._meta.app_label}/{model._meta.model_name}/?q=o"
        yield f"/{model._meta.app_label}/{model._meta.model_name}/add/"
    for row in rows:
        for page in ("change", "delete", "history"):
            yield f"/{row._meta.app_label}/{row._meta.model_name}/{row.pk}/{page}/"


def test_every_kind_has_pages_and_no_other(rows):
    registered = {model.__name__ for model in admin.site._registry}

    assert registered == {type(row).__name__ for row in rows[0]}


def test_every_page_is_local_without_inline_code_and_shows_no_secret(pages, rows):
    kinds, secrets = rows
    seen, files = 0, set()
    for path in paths(kinds):
        response = pages.get(path)
        html = response.content.decode()
        assert not [secret for secret in secrets if secret in html], path
        if response.status_code != 200 or not response["Content-Type"].startswith("text/html"):
            assert response.status_code in {200, 302, 403, 405}, path
            continue
        assert not INLINE.findall(html), path
        assert not OUTSIDE.findall(html), path
        assert "'unsafe" not in response["Content-Security-Policy"]
        files.update(re.findall(r'(?:<script[^>]* src|<link[^>]* href)="([^"]+)"', html))
        seen += 1
    assert seen > 40
    for file in files - {"data:,"}:  # the empty icon
        name = file.removeprefix(settings.STATIC_URL)
        assert finders.find(name) if name != file else pages.client.get(file).status_code == 200, file


def test_the_sign_in_page_needs_nothing_inline(client, db):
    response = client.get(f"{ADMIN}/login/")

    assert response.status_code == 200
    assert not INLINE.findall(response.content.decode())


def test_pages_forbid_caching(pages, rows):
    for path in ("/", "/accounts/user/"):
        assert "no-store" in pages.get(path)["Cache-Control"]
