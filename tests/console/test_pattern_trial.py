"""The page that tries the pattern of a WAF rule on an example before it is saved."""

import pytest

from policies.models import WafRule
from tests.admin.conftest import ADMIN, Fields


@pytest.fixture
def tried(pages):
    """Return a function that sends the form of a new rule with an example and returns the page."""
    token = Fields(pages.get("/policies/wafrule/add/").content.decode()).values["csrfmiddlewaretoken"][0]

    def attempt(path="/waf-rules/try/", **values):
        sent = {"csrfmiddlewaretoken": token, "operator": "regex", "targets": ["query"], "action": "block", **values}
        return pages.client.post(f"{ADMIN}{path}", sent)

    return attempt


def places(response):
    return [(place["target"], place["text"]) for place in response.context["places"]]


def test_a_match_is_highlighted_in_its_place(tried):
    page = tried(
        pattern="union\\s+select", transforms=["url-decode", "lowercase"], example="/search?q=1 UNION SELECT x"
    )

    assert places(page) == [("query", "union select")]
    assert "<mark>union select</mark>" in page.content.decode()
    assert not WafRule.objects.exists()


@pytest.mark.parametrize("target", ["args", "user-agent", "referer", "cookies", "headers", "body", "uri"])
def test_an_example_text_is_inspected_in_the_parts_of_the_rule(tried, target):
    assert places(tried(pattern="sleep", targets=[target], example="sleep")) == [(target, "sleep")]


def test_the_script_gets_only_the_result_fragment(tried):
    html = tried("/waf-rules/try/?part=1", pattern="x1", example="/?a=<b>").content.decode()

    assert "does not match this example" in html
    assert "<html" not in html


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"pattern": "("}, "errornote"),
        ({"pattern": ".*"}, "matches an empty text"),
        ({"pattern": "x", "targets": ["nothing"]}, "errornote"),
        ({"pattern": "x", "transforms": ["rot13"]}, "errornote"),
    ],
)
def test_errors_of_the_rule_are_shown(tried, values, words):
    assert words in tried(example="/", **values).content.decode()


def test_examples_of_any_shape_are_answered_and_escaped(tried):
    for example in ("", "\0", "é ü\n\n", "/%zz", "<script>alert(1)</script>", "x" * 20_000):
        page = tried(pattern="script|é|x", targets=["args", "cookies", "headers", "body"], example=example)
        assert page.status_code == 200
        assert "<script>alert" not in page.content.decode()


def test_the_form_offers_the_pattern_trial(pages):
    form = pages.get("/policies/wafrule/add/")
    html = form.content.decode()

    assert 'formaction="/wall/admin/waf-rules/try/"' in html
    assert "connect-src 'self'" in form["Content-Security-Policy"]
    assert "connect-src" not in pages.get("/policies/geoblockrule/add/")["Content-Security-Policy"]
    assert pages.get("/waf-rules/try/").status_code == 405
