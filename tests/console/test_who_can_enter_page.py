"""The page that lists who can enter a path."""

from policies.access_rules.services import create_access_rule

PAGE = "/who-can-enter/"


def test_the_page_lists_people_with_the_required_access(pages, bob, office):
    create_access_rule(actor="x", name="strict <b>", access="two_factor")
    empty = pages.words(pages.get(PAGE))
    page = pages.words(pages.get(f"{PAGE}?host=office.example&path=/a&method=GET"))

    assert '<option value="office.example">' in empty
    assert page.count("a second factor") >= 2  # Alice and Bob
    assert "strict &lt;b&gt;" in page
    assert "is asked to sign in" in page


def test_malformed_requests_are_refused(pages):
    for query in ("host=not%20a%20host", "host=a.example&method=get", f"host=a.example&path=/{'a' * 9000}"):
        response = pages.get(f"{PAGE}?{query}")
        assert response.status_code == 400
        assert "errornote" in pages.words(response)
