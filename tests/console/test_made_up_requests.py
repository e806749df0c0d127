"""A made-up request on the Explain page: the same steps as those of a recorded one."""

import pytest

from gatewall.engine.steps import STEPS
from policies import services
from tests.console.test_explain_pages import text_of
from tests.support.cast import CLIENT, OFFICE

pytestmark = pytest.mark.django_db

MADE_UP = {"client_ip": CLIENT, "host": OFFICE, "method": "GET", "uri": "/a?q=attack", "scheme": "https"}


def test_a_made_up_request_is_explained_with_the_same_steps(pages, office):
    rule = services.create_waf_rule(actor="", name="attack", pattern="attack", targets=["args"])
    response = pages.submit("/explain/", **MADE_UP)

    page = response.content.decode()
    assert response.status_code == 200
    assert page.count('<span class="step">') == len(STEPS)
    assert f'href="/wall/admin/policies/wafrule/{rule.pk}/change/"' in page
    assert "403 refused : WAF rules found an attack." in text_of(response)


def test_a_made_up_visitor_is_signed_in(pages, charlie):
    response = pages.submit("/explain/", **MADE_UP, kind="user", name="charlie", headers="User-Agent: x\nAccept: y")

    assert "200 let through : A user was signed in." in text_of(response)
    assert f"/accounts/user/{charlie.pk}/change/" in response.content.decode()


@pytest.mark.parametrize(
    "wrong",
    [
        {"headers": "no colon here"},
        {"headers": "Host: x"},
        {"kind": "user", "name": "nobody"},
        {"kind": "robot", "name": "x"},
        {"kind": "user", "name": ""},
        {"uri": "x" * 9000},
        {"host": ""},
    ],
)
def test_an_invalid_made_up_request_is_refused(pages, wrong):
    response = pages.submit("/explain/", **(MADE_UP | wrong))

    assert response.status_code == 400
    assert 'role="alert"' in response.content.decode()
