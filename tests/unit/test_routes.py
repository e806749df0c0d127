"""The dialect of a path."""

import pytest

from gatewall.gate import subrequest
from gatewall.gate.routes import find

EXACT = {"/auth": subrequest.auth, "/auth/forward": subrequest.forward, "/auth/original-url": subrequest.original_url}
ROOTS = pytest.mark.parametrize("root", ["/wall", "", "/a/b", "/auth"])
EACH_EXACT = pytest.mark.parametrize("path", EXACT)


@ROOTS
@EACH_EXACT
def test_each_path_has_its_dialect(root, path):
    assert find(root, root + path).dialect.parse is EXACT[path]


@EACH_EXACT
@pytest.mark.parametrize("query", ["?", "?a=b", "?/auth/envoy", "??"])
def test_a_query_changes_nothing(path, query):
    assert find("/wall", f"/wall{path}{query}").dialect.parse is EXACT[path]


@pytest.mark.parametrize(
    "target",
    [
        "/auth", "/auth/forward", "/auth/envoy", "/auth/envoy/x", "/wal/auth", "/wallet/auth", "/Wall/auth",
        "//wall/auth", "/./wall/auth", "/wall//auth", "/wall/./auth", "/wall/x/../auth", "/x/wall/auth",
        "/wall/auth/", "/wall/auth/forward/", "/wall/auth/forward/x", "/wall/auth/original-url/", "/wall/auth/x",
        "/wall/authx", "/wall/Auth", "/wall/AUTH", "/wall/%61uth", "/wall/auth%2fforward", "/wall/auth%20",
        "/wall/auth;x", "/wall/auth#x", "/wall/auth\\forward", "/wall/auth/../auth/forward", "/wall", "/wall/", "/",
        "", "*", "wall/auth", "http://office.example/wall/auth", "/wall/auth/original_url", "/wall/auth/forwardx",
        "/wall/auth/envoyx", "/wall/auth/envoy%2f", "/wall/auth/envoy;x", "/wall/auth/envoy#x", "/wall/auth/envoy.",
        "/wall/auth/Envoy", "/wall/auth//envoy", "/wall/auth/envo",
    ],
)  # fmt: skip
def test_anything_else_is_not_the_gates(target):
    assert find("/wall", target) is None


@ROOTS
@pytest.mark.parametrize(
    ("behind", "target"),
    [
        ("", "/"),
        ("/", "/"),
        ("?", "/"),
        ("/?", "/"),
        ("/a?", "/a"),
        ("?a=b", "/?a=b"),
        ("/?a=b", "/?a=b"),
        ("/a??", "/a??"),
        ("/a?b=c?", "/a?b=c?"),
        ("/a/b.c?d=e&f", "/a/b.c?d=e&f"),
        ("//evil.test/", "//evil.test/"),
        ("/a//b", "/a//b"),
        ("/../wall/auth", "/../wall/auth"),
        ("/a/../b/./c", "/a/../b/./c"),
        ("/a%2fb%2Fc%5cd%00%2e%2e", "/a%2fb%2Fc%5cd%00%2e%2e"),
        ("/a;v=1/b", "/a;v=1/b"),
        ("/auth/envoy/auth", "/auth/envoy/auth"),
        ("/\xff?\xff", "/\xff?\xff"),
        ("/a?/b", "/a?/b"),
    ],
)
def test_the_rest_after_the_prefix_is_the_target_as_it_was_sent(root, behind, target):
    route = find(root, f"{root}/auth/envoy{behind}")

    assert route.dialect.parse is subrequest.envoy
    assert route.target == target


@EACH_EXACT
def test_the_exact_paths_are_read_only(path):
    route = find("", path)

    assert [verb for verb in ("GET", "HEAD", "POST", "PUT", "OPTIONS", "get", "") if route.allows(verb)] == [
        "GET",
        "HEAD",
    ]


@pytest.mark.parametrize("verb", ["GET", "HEAD", "POST", "DELETE", "PROPFIND", "OPTIONS", "CONNECT"])
def test_envoy_may_use_the_visitors_method(verb):
    assert find("", "/auth/envoy/x").allows(verb)


@pytest.mark.parametrize(
    ("path", "answers"),
    [("/auth", False), ("/auth/original-url", False), ("/auth/forward", True), ("/auth/envoy", True)],
)
def test_two_dialects_answer_browsers(path, answers):
    assert find("", path).dialect.answers_browsers is answers
