"""Invalid policy documents over HTTP: every route that takes a document refuses them, and nothing changes."""

import pytest

from gatewall.models.shadow import ShadowPolicy
from gatewall.policy import revisions
from gatewall.whatif.backtest.models import Backtest
from policies.document.export import export
from tests.api.bad_documents import BAD, MILLION

pytestmark = pytest.mark.django_db


def everywhere(admin, document):
    """Send a document to each route that takes one; return the answers."""
    number = revisions.current().revision
    return [
        admin.post("/policy/plan", {"document": document}),
        admin.post("/policy/apply", {"document": document, "if_revision": number, "force": True}),
        admin.post("/policy/document/compare", {"document": document}),
        admin.put("/policy/shadow", {"document": document, "percent": 1}),
    ]


@pytest.fixture
def nothing_changes(admin, office):
    before = revisions.current(), export().canonical()
    yield
    assert (revisions.current(), export().canonical()) == before
    assert not Backtest.objects.exists()
    assert not ShadowPolicy.objects.exists()


@pytest.mark.parametrize(
    ("document", "words"),
    [*(pytest.param(*each, id=name) for name, each in BAD.items())],
)
def test_an_invalid_document_is_refused_with_line_and_column(admin, nothing_changes, document, words):
    for answer in everywhere(admin, document):
        problem = answer.json()
        assert (answer.status_code, problem["code"]) == (400, "document-refused")
        assert words in problem["detail"]
        assert all(each["line"] >= 1 and each["column"] >= 1 for each in problem["errors"])
        assert len(answer.content) < 100_000


TOO_MANY = "the document has more than 1,000,000 values; long lists of networks belong to a list subscription"


@pytest.mark.full  # a million values take seconds to read
def test_a_list_of_a_million_networks_is_refused(admin, nothing_changes):
    for answer in everywhere(admin, MILLION):
        assert (answer.status_code, answer.json()["code"]) == (400, "document-refused")
        assert answer.json()["detail"] == f"line 2, column 12, /blocklist: {TOO_MANY}"
        assert [(each["pointer"], each["line"], each["column"]) for each in answer.json()["errors"]] == [
            ("/blocklist", 2, 12)
        ]


def test_a_document_of_fifty_mebibytes_is_refused_by_its_length(admin, nothing_changes):
    for answer in everywhere(admin, "#" * (50 << 20)):
        assert (answer.status_code, answer.json()["code"]) == (413, "body-too-large")
        assert answer.json()["detail"] == "a body has at most 16 MiB"


def test_a_document_of_more_than_eight_mebibytes_is_refused(admin, nothing_changes):
    for answer in everywhere(admin, "#" * ((8 << 20) + 1)):
        assert (answer.status_code, answer.json()["code"]) == (400, "document-refused")
        assert "more than 8 MiB" in answer.json()["detail"]
