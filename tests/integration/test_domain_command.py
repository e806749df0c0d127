"""``gatewall domain``: register a site from a shell, with the rules of the API."""

import io

import pytest
from django.core.management import CommandError, call_command

from gatewall.policy import system_settings
from policies import services
from policies.models import AuthorizedDomain

pytestmark = pytest.mark.django_db
SITE = "app.example.com"


def domain(*arguments):
    out = io.StringIO()
    call_command("domain", *arguments, stdout=out)
    return out.getvalue().splitlines()


def test_the_first_site_is_registered_and_other_hosts_are_refused(settings):
    settings.GATEWALL_PUBLIC_URL = "https://wall.example.com"

    said = domain("add", SITE)

    row = AuthorizedDomain.objects.get(name=SITE)
    assert (row.access, row.created_by) == ("authenticated", "gatewall domain")
    assert system_settings.current().authorized_domains_mode == "registered"
    assert said == [
        f"{SITE} is registered with the access authenticated",
        "authorized_domains_mode is now registered: other hosts are refused",
    ]
    assert domain("add", "tv.example.com", "--access", "two_factor", "--remark", "the television") == [
        "tv.example.com is registered with the access two_factor"
    ]
    assert domain("list") == [f"{SITE}  authenticated", "tv.example.com  two_factor  the television"]


def test_a_site_that_the_cookie_does_not_reach_is_a_warning_with_the_fix(settings):
    settings.GATEWALL_PUBLIC_URL = "https://wall.example.com"

    (warning,) = [line for line in domain("add", "app.example.org") if line.startswith("warning: ")]

    assert "visitors of app.example.org cannot stay signed in" in warning
    assert "GATEWALL_PUBLIC_URL=https://wall.example.com,https://wall.example.org" in warning


@pytest.mark.parametrize("name", [SITE, "TV.example.com", "https://x.example.com", "x y", ""])
def test_an_invalid_or_duplicate_domain_is_one_line_and_code_1(name):
    services.register_domain(actor="alice", name=SITE, access="public")

    with pytest.raises(CommandError) as caught:
        domain("add", name)

    assert caught.value.returncode == 1
    assert len(str(caught.value).splitlines()) == 1
    assert list(AuthorizedDomain.objects.values_list("name", "access")) == [(SITE, "public")]
