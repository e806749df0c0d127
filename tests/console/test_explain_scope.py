"""The Explain pages describe the scope that lets a user in."""

import pytest

from accounts import services
from policies.groups.services import create_group
from tests.console.test_explain_pages import receipt, text_of
from tests.support.cast import CLIENT, OFFICE
from tests.support.proxies import a_token, a_user

pytestmark = pytest.mark.django_db


def explained(pages, name):
    values = {"client_ip": CLIENT, "host": OFFICE, "method": "GET", "uri": "/", "kind": "user", "name": name}
    return text_of(pages.submit("/explain/", **values))


def test_the_page_names_the_groups(pages, office):
    family = create_group(actor="", name="family", authorized_domains=[office])
    staff = create_group(actor="", name="staff", all_domains=True)
    dora = a_user("dora", all_domains=False, groups=[family])
    assert "dora may enter office.example through the group family." in explained(pages, "dora")

    services.change_user(dora, actor="", groups=[family, staff])
    assert "dora may enter office.example through the groups family, staff." in explained(pages, "dora")

    services.change_user(dora, actor="", all_domains=True)
    assert "dora may enter office.example by their own scope and through family, staff." in explained(pages, "dora")

    services.change_user(dora, actor="", groups=[])
    assert "dora may enter office.example by their own scope." in explained(pages, "dora")

    services.change_user(dora, actor="", all_domains=False)
    assert "Neither the scope of dora nor a group covers office.example." in explained(pages, "dora")

    services.change_user(dora, actor="", is_admin=True)
    assert "dora is an admin and may enter every host." in explained(pages, "dora")


def test_a_recorded_decision_names_the_group_of_today(pages, visits, office):
    family = create_group(actor="", name="family", authorized_domains=[office])
    dora = a_user("dora", all_domains=False, groups=[family])

    page = receipt(pages, visits(service_authorization=a_token(dora)))

    assert "dora may enter office.example through the group family." in page
    assert "may enter" not in receipt(pages, visits())
