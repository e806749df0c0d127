"""The page that shows a new token once, with lines to use it."""

import re

from accounts.models import ApiToken
from licensing.models import AppToken, GitToken, License


def lines_of(page):
    return re.findall(r"<pre[^>]*>([^<]+)</pre>", page.content.decode().replace("&quot;", '"'))


def test_tokens_are_shown_with_lines_to_use_them(pages, bob, office):
    license_page = pages.submit(
        "/licensing/license/add/", name="robot", authorized_domains=[office.pk], all_domains=None
    )
    git_page = pages.submit("/licensing/gittoken/add/", user=bob.pk, name="laptop")
    app_page = pages.submit("/licensing/apptoken/add/", user=bob.pk, name="calendar", all_domains="on")
    api_page = pages.submit("/accounts/apitoken/add/", name="ci", scopes=["policy:read"])

    secret, curl = lines_of(license_page)
    assert curl == f'curl -H "Service-License: {secret}" https://{office.name}/'
    secret, git = lines_of(git_page)
    assert git == f"git clone https://{bob.username}:{secret}@git.example.com/me/repository.git"
    secret, bearer, basic = lines_of(app_page)
    assert bearer == f'curl -H "Authorization: Bearer {secret}" https://app.example.com/'
    assert basic == f"curl -u {bob.username}:{secret} https://app.example.com/"
    secret, call, policy = lines_of(api_page)
    assert f'"Service-Authorization: {secret}"' in call
    assert policy.startswith(f"GATEWALL_API_TOKEN={secret} gatewall policy export --url ")
    for model in (License, GitToken, AppToken, ApiToken):
        row = model.objects.get()
        shown = pages.get(f"/{row._meta.app_label}/{row._meta.model_name}/{row.pk}/change/").content.decode()
        assert row.prefix in shown
        assert not [page for page in (license_page, git_page, app_page, api_page) if lines_of(page)[0] in shown]
