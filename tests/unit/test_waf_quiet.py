"""The cache about shared headers changes no finding, for all other headers and their lengths."""

import base64
import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from gatewall.engine.shared import Shared
from gatewall.engine.waf.judge import builtin_rules
from gatewall.engine.waf.matcher import RuleSet
from gatewall.engine.waf.plain_target import Asked
from gatewall.engine.waf.reading import MAX_HEADER
from gatewall.engine.waf.vector import AVAILABLE, CompiledNow
from tests.support.cast import a_request, a_rule

RULES = RuleSet(builtin_rules(), CompiledNow() if AVAILABLE else None)
BASE64 = base64.b64encode(b"<script>alert(1)</script> and more").decode()
TEXTS = [
    "plain",
    "",
    "<script>alert(1)</script>",
    "1' OR '1'='1",
    "%3Cscript%3E",
    "..%2f..%2fetc/passwd",
    BASE64,
    '{"a": "union select"}',
    "a" * 900,
    "b/c " * 400,
    "it''s \\ & more",
    "https://elsewhere.example/?next=//evil.example",
]
texts = st.sampled_from(TEXTS)
names = st.sampled_from(["user-agent", "x-note", "accept", "cookie", "x-json", "sec-ch-ua"])
VARYING = (0, 1)


@given(
    headers=st.dictionaries(names, texts, max_size=4),
    cookies=st.dictionaries(st.sampled_from(["theme", "a", "b"]), texts, max_size=3),
    asked=st.lists(st.tuples(st.lists(texts, max_size=5), texts, texts), min_size=2, max_size=6),
)
def test_requests_that_share_headers_are_matched_as_each_alone(headers, cookies, asked):
    shared = Shared(VARYING)
    for arguments, referer, tag in asked:
        query = "&".join(f"n{number}={text}" for number, text in enumerate(arguments))
        fields = {"referer": referer, "if-none-match": tag, **headers}
        alone = a_request(uri=f"/a?{query}" if query else "/a/b", headers=fields, cookies=cookies)
        together = dataclasses.replace(alone, shared=shared)

        for _ in range(2):
            assert RULES.hits(together, None, 5) == RULES.hits(alone, None, 5)


def known_after(**parts):
    shared = Shared()
    RULES.hits(dataclasses.replace(a_request(**parts), shared=shared), None, 5)
    return shared


def test_headers_in_which_something_was_found_are_never_quiet():
    assert known_after(uri="/a").quiet_for is not None
    assert known_after(uri="/a", headers={"x-note": "<script>alert(1)</script>"}).quiet_for is None
    assert known_after(uri="/a", cookies={"a": "<script>alert(1)</script>"}).quiet_for is None


def test_edited_rules_apply_to_all_headers():
    rules = RuleSet([*builtin_rules(), a_rule("weekly", builtin=True)], CompiledNow() if AVAILABLE else None)
    request = dataclasses.replace(a_request(uri="/a", headers={"x-note": "weekly"}), shared=Shared())

    assert [len(rules.hits(request, None, 5)) for _ in range(3)] == [len(rules.hits(request, None, 5))] * 3


def test_headers_not_known_to_be_harmless_are_not_quiet():
    known, plain = known_after(uri="/a"), Asked("/a", None, None, "text/html")

    assert RULES.is_quiet(plain, known)
    assert not RULES.is_quiet(plain, Shared())
    assert not RULES.is_quiet(plain._replace(others="<script>alert(1)</script>"), known)
    assert not RULES.is_quiet(plain._replace(referer="/" * (MAX_HEADER + 1)), known)
