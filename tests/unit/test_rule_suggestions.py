"""Suggested access rules: paths and methods, from refused requests of a program, that would let it in."""

import pytest

from gatewall.replay.rule_suggestions import LEAST_PATHS, LEAST_REQUESTS, MAX_PATHS, RefusedRequest, suggestions

APP = "Jellyfin-Android/2.6 (Pixel)"
BROWSER = "Mozilla/5.0 (X11; Linux x86_64)"


def asked(*requests, agent=APP, client="203.0.113.7"):
    """Return refused requests, newest first, from texts like ``GET /path``."""
    found = []
    for number, request in enumerate(requests):
        method, path = request.split(" ", 1)
        found.append(
            RefusedRequest(f"{agent[:3]}-{number}", 1_000.0 - number, client, method, path, path.split(";")[0], agent)
        )
    return found


def enough(*requests, **more):
    return asked(*requests, *(["GET /health", "GET /info", "GET /ping"] * LEAST_REQUESTS), **more)


def opened(requests):
    [suggestion] = suggestions(requests)
    return {(", ".join(rule.methods), f"{path.match}:{path.value}") for rule in suggestion.rules for path in rule.paths}


def test_paths_are_opened_with_the_requested_methods():
    assert opened(enough("POST /sessions", "GET /sessions", "POST /login")) == {
        ("GET", "exact:/health"), ("GET", "exact:/info"), ("GET", "exact:/ping"),
        ("GET, POST", "exact:/sessions"), ("POST", "exact:/login"),
    }  # fmt: skip


@pytest.mark.parametrize(
    "id_",
    ["7", "0c1f5e1f-0b7c-4a9f-8f0d-7f6f5e4d3c2b", "F137A2DD21BBC1B99AA5C0F6BF02A805", "dQw4w9WgXcQ_dQw4w9WgXcQ"],
)
def test_an_id_becomes_a_wildcard(id_):
    assert ("GET", "glob:/items/*/image") in opened(enough(f"GET /items/{id_}/image"))


@pytest.mark.parametrize("word", ["facade", "Sessions", "quick-connect-with-many-words", "v2"])
def test_a_word_does_not_become_a_wildcard(word):
    assert ("GET", f"exact:/api/{word}") in opened(enough(f"GET /api/{word}"))


def test_an_id_at_the_root_does_not_become_a_wildcard():
    assert ("GET", "exact:/12345678") in opened(enough("GET /12345678"))


def test_many_words_in_one_place_become_a_wildcard_but_not_at_the_root():
    words = ["ada", "bob", "cleo", "dora", "eve", "finn", "gus", "hal"]
    found = opened(enough(*(f"GET /user/{word}/feed" for word in words), *(f"GET /{word}" for word in words)))

    assert ("GET", "glob:/user/*/feed") in found
    assert {("GET", f"exact:/{word}") for word in words} < found
    assert not {pattern for _, pattern in found if pattern.startswith("glob:/*")}


@pytest.mark.parametrize(
    "requests",
    [
        asked(*(f"GET /page/{word}" for word in "abcdefghijklmnop"), agent=BROWSER),
        asked(*(f"GET /page/{word}" for word in "abcdefghijklmnop"), agent=""),
        asked(*["GET /a", "GET /b", "GET /c"][: LEAST_PATHS - 1] * LEAST_REQUESTS),
        asked(*(f"GET /{number}" for number in range(LEAST_REQUESTS - 1))),
    ],
    ids=["browser", "no name", "few paths", "few requests"],
)
def test_without_evidence_of_a_program_nothing_is_suggested(requests):
    assert suggestions(requests) == []


def test_evidence_counts_requests_clients_and_gives_the_newest_as_examples():
    requests = [*enough("GET /a"), *asked("GET /a", client="203.0.113.8")]
    [suggestion] = suggestions(requests)
    evidence = suggestion.evidence

    assert (evidence.program, evidence.number, evidence.clients) == (
        "Jellyfin-Android", len(requests), {"203.0.113.7", "203.0.113.8"},
    )  # fmt: skip
    assert evidence.examples == ["Jel-0", "Jel-1", "Jel-2", "Jel-3", "Jel-4"]
    assert evidence.first_at <= evidence.last_at == 1_000.0
    assert suggestion.missed == 0


def test_other_requests_that_the_rules_would_allow_are_counted_by_program():
    curious = asked("GET /health", "GET /health", "GET /admin", "POST /health", agent="curl/8.1")
    visitor = asked("GET /info", agent=BROWSER)
    [suggestion] = suggestions([*curious, *visitor, *enough()])

    assert [(each.program, each.number) for each in suggestion.others] == [("curl", 2), ("", 1)]


def test_a_path_with_a_second_reading_outside_is_missed():
    [suggestion] = suggestions([*enough(), *asked("GET /health;/../admin")])
    assert suggestion.missed == 1


def test_a_path_that_no_rule_can_write_is_missed():
    masked = RefusedRequest("m", 1.0, "203.0.113.7", "GET", "/***", None, APP)
    [suggestion] = suggestions([masked, *enough()])
    assert suggestion.missed == 1


def test_a_rule_has_a_bounded_number_of_paths_and_counts_the_missed_ones():
    names = [f"file{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(2 * MAX_PATHS)]
    [suggestion] = suggestions(asked(*(f"GET /{name}" for name in names)))

    [rule] = suggestion.rules
    assert len(rule.paths) == MAX_PATHS
    assert suggestion.missed == MAX_PATHS


def test_programs_come_with_most_requests_first():
    few = asked(
        *(f"GET /hook/{word}" for word in ("push", "pull", "tag", "star")), *["GET /hook/push"] * 9, agent="Hook/1"
    )
    assert [each.evidence.program for each in suggestions([*few, *enough()])] == ["Jellyfin-Android", "Hook"]
