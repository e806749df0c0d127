"""App tokens on the account page: issued for one site or all, shown once, listed with last use, deleted."""

import pytest
from django.utils import timezone

from audit.models import UseCount
from gatewall.engine.hosts import Access
from licensing.models import AppToken
from policies import services
from tests.support.cast import OFFICE
from tests.support.visitor import Visitor

pytestmark = pytest.mark.django_db


@pytest.fixture
def visitor(bob):
    visitor = Visitor()
    visitor.sign_in()
    return visitor


@pytest.fixture(autouse=True)
def office():
    return services.register_domain(actor="alice", name=OFFICE, access=Access.AUTHENTICATED)


def test_an_app_token_is_issued_for_one_site_and_path_and_shown_once(visitor, bob):
    made = visitor.send("/account/app-tokens", name="calendar", domain=OFFICE, prefix="/dav/", days="30")
    row = AppToken.objects.get()

    assert (made.status_code, row.user, row.all_domains, row.path_prefixes) == (201, bob, False, ["/dav"])
    assert [domain.name for domain in row.authorized_domains.all()] == [OFFICE]
    assert "gwp_" + made.text.partition('<code class="secret">gwp_')[2][:6] == row.prefix
    assert 'class="secret"' not in visitor.get("/account").text


def test_the_last_use_and_its_program_are_shown(visitor, bob):
    visitor.send("/account/app-tokens", name="calendar", domain="", days="never")
    row = AppToken.objects.get()
    assert (row.all_domains, row.expires_at) == (True, None)
    assert "not used yet" in visitor.get("/account").text
    UseCount.objects.create(kind="app-token", row_id=row.pk, count=1, last_at=timezone.now(), last_by="DAVx5")

    assert "DAVx5" in visitor.get("/account").text


def test_a_site_that_the_user_may_not_enter_is_not_offered(visitor, bob):
    bob.all_domains = False
    bob.save()

    assert f'value="{OFFICE}"' not in visitor.get("/account").text
    assert visitor.send("/account/app-tokens", name="calendar", domain=OFFICE).status_code != 201
    assert not AppToken.objects.exists()


def test_an_app_token_is_deleted(visitor, bob):
    visitor.send("/account/app-tokens", name="calendar", domain=OFFICE)
    visitor.send("/account/app-tokens/delete", id=str(AppToken.objects.get().pk))

    assert not AppToken.objects.exists()
