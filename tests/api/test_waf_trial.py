"""``POST /waf-rules/test``: the rules that a made-up request matches, where, and the result."""

import pytest

from gatewall.policy import revisions, system_settings
from policies.models import WafRule
from policies.rules.builtin import seed_waf_rules
from tests.api.waf_trials import places, rule
from tests.support.cast import OFFICE

pytestmark = pytest.mark.django_db
UNION = "/?id=1%27%20UNION%20SELECT%20password%20FROM%20users--"


@pytest.fixture
def builtin(db):
    seed_waf_rules(actor="seed")


def test_an_ordinary_request_matches_no_rule(tried, builtin):
    answer = tried("/index.html?page=2")

    assert answer == {
        "blocked": False,
        "waf_mode": "block",
        "waf_threshold": 5,
        "scores": [],
        "rules": [],
        "domain": None,
        "fault": None,
        "warnings": [],
        "policy_revision": revisions.current().revision,
    }


def test_a_builtin_rule_is_named_with_part_form_and_text(tried, builtin):
    answer = tried(UNION)

    assert answer["blocked"] is True
    row = WafRule.objects.get(builtin_key="sqli-union-select")
    found = next(each for each in answer["rules"] if each["id"] == row.pk)
    assert {name: found[name] for name in found if name != "places"} == {
        "id": row.pk,
        "name": "sqli-union-select",
        "builtin": True,
        "draft": False,
        "category": "sqli",
        "score": 5,
        "action": "block",
        "counts": True,
    }
    place = found["places"][0]
    assert (place["target"], place["name"], place["form"]) == ("args", "id", "decoded")
    assert "UNION SELECT" in place["text"]


@pytest.mark.parametrize("uri", [UNION, "/?q=%3Cscript%3Ealert(1)", "/a/../../etc/passwd", "/?x=a", "/.env"])
def test_a_trial_gives_the_same_answer_as_the_gate(tried, auth, builtin, uri):
    rule(targets=["args"], pattern="^a$", score=4, category="xss")

    verdict = auth(x_forwarded_uri=uri, x_forwarded_host="localhost").verdict

    assert tried(uri)["blocked"] is (verdict[1] == "waf-rule")


def test_every_rule_that_matches_in_the_corpus_of_attacks_has_a_place(tried, builtin):
    for attack in (UNION, "/?q=%253Cscript%253Ealert(1)", "/..%2f..%c0%ae/etc/passwd", "/?c=;c%27a%27t%20/etc/passwd"):
        answer = tried(attack)

        assert answer["rules"]
        assert [each["name"] for each in answer["rules"] if not each["places"]] == []


@pytest.mark.parametrize(
    ("sent", "form", "text"),
    [
        ("<script>", "as-sent", "<script"),
        ("%3Cscript%3E", "decoded", "<script"),
        ("%253Cscript%253E", "decoded", "<script"),
        ("%26lt%3Bscript%26gt%3B", "rewritten", "<script"),
        ("PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==", "rewritten", "<script"),
    ],
)
def test_a_match_names_the_decoded_form_of_the_text(tried, builtin, sent, form, text):
    place = places(tried(f"/?q={sent}"), "xss-script-tag")[0]

    assert (place["form"], place["target"], place["name"]) == (form, "args", "q")
    assert place["text"].startswith(text)


@pytest.mark.parametrize(
    ("target", "name", "parts"),
    [
        ("uri", None, {"uri": "/attack"}),
        ("path", None, {"uri": "/attack"}),
        ("query", None, {"uri": "/?attack"}),
        ("args", "q", {"uri": "/?q=attack"}),
        ("arg-names", "attack", {"uri": "/?attack=1"}),
        ("headers", "x-made-up", {"headers": {"X-Made-Up": "attack"}}),
        ("user-agent", None, {"headers": {"User-Agent": "attack"}}),
        ("cookies", "theme", {"headers": {"Cookie": "theme=attack"}}),
        ("referer", None, {"headers": {"Referer": "https://attack/"}}),
        ("method", None, {"method": "ATTACK"}),
        ("host", None, {"host": "attack.example"}),
        ("body", None, {"body": "attack"}),
    ],
)
def test_each_part_can_be_tried(tried, target, name, parts):
    rule(pattern="(?i)attack", targets=[target])

    answer = tried(**parts)

    assert places(answer) == [
        {"target": target, "name": name, "form": "as-sent", "text": "ATTACK" if target == "method" else "attack"}
    ]
    assert answer["blocked"] is True


@pytest.mark.parametrize(
    ("operator", "pattern", "text"),
    [("contains", "tta", "tta"), ("equals", "attack", "attack"), ("starts-with", "at", "at"), ("ends-with", "k", "k")],
)
def test_each_operator_shows_what_it_found(tried, operator, pattern, text):
    rule(operator=operator, pattern=pattern, targets=["args"])

    assert places(tried("/?q=attack"))[0]["text"] == text


def test_transforms_are_made_before_the_text_is_shown(tried):
    rule(pattern="^attack$", targets=["args"], transforms=["lowercase", "remove-whitespace"])

    assert places(tried("/?q=AT+TACK")) == [
        {"target": "args", "name": "q", "form": "rewritten", "text": "attack"},
    ]


def test_rules_do_not_see_credentials(tried):
    rule(pattern="ey", targets=["headers", "cookies"])

    answer = tried(headers={"Service-Authorization": "ey", "Authorization": "Bearer ey", "Cookie": "service.token=ey"})

    assert answer["rules"] == []


def test_a_long_match_is_cut_and_a_frequent_one_is_shown_five_times(tried):
    rule("long", "a{100,}.*", targets=["args"])
    rule("often", "^b$", targets=["args"])

    answer = tried("/?q=" + "a" * 2000 + "&x=b" * 20)

    assert len(places(answer, "long")[0]["text"]) == 200
    assert len(places(answer, "often")) == 1
    assert len(places(tried("/?" + "&".join(f"x{n}=b" for n in range(20))), "often")) == 5


def test_matched_bytes_beyond_ascii_are_escaped(tried):
    rule(pattern=".", targets=["args"], action="monitor")

    assert places(tried("/?q=%ff"))[0]["text"] == "\\xff"
    assert places(tried("/?q=%C3%A4"))[0]["text"] == "\\xc3"


def test_scores_are_summed_by_category_separately_for_monitor(tried):
    rule("one", "att", score=2, category="xss")
    rule("two", "tack", score=2, category="xss")
    rule("three", "attack", score=4, category="sqli")
    rule("four", "a", score=9, category="sqli", action="monitor", targets=["args"])

    answer = tried("/?q=attack")

    assert answer["scores"] == [
        {"category": "sqli", "block": 4, "monitor": 9},
        {"category": "xss", "block": 4, "monitor": 0},
    ]
    assert answer["blocked"] is False
    assert {each["name"]: each["counts"] for each in answer["rules"]} == {
        "one": True,
        "two": True,
        "three": True,
        "four": False,
    }
    system_settings.change(actor="alice", waf_threshold=4)
    assert tried("/?q=attack")["blocked"] is True


@pytest.mark.parametrize("mode", ["monitor", "off"])
def test_in_other_modes_rules_are_named_and_nothing_is_blocked(tried, mode):
    rule()
    system_settings.change(actor="alice", waf_mode=mode)

    answer = tried("/attack")

    assert (answer["waf_mode"], answer["blocked"]) == (mode, False)
    assert [(each["name"], each["counts"]) for each in answer["rules"]] == [("mine", False)]


@pytest.mark.parametrize(
    ("exclusion", "spared", "met"),
    [
        ({"argument": "q"}, {"uri": "/?q=attack"}, {"uri": "/?r=attack"}),
        ({"path_prefix": "/editor"}, {"uri": "/editor/x?q=attack"}, {"uri": "/editors?q=attack"}),
        ({"domain": OFFICE}, {"uri": "/?q=attack", "host": OFFICE}, {"uri": "/?q=attack"}),
    ],
    ids=["argument", "path", "domain"],
)
def test_exclusions_apply(tried, office, exclusion, spared, met):
    rule(targets=["args"], exclusions=[exclusion])

    assert tried(**spared)["rules"] == []
    assert [each["name"] for each in tried(**met)["rules"]] == ["mine"]


def test_an_excluded_argument_is_not_reported(tried):
    rule(targets=["args"], exclusions=[{"argument": "q"}])

    assert [place["name"] for place in places(tried("/?q=attack&r=attack"))] == ["r"]


def test_a_rule_of_a_domain_is_tried_at_its_host(tried, office):
    rule(domain=office)

    assert tried("/attack")["rules"] == []
    assert (tried("/attack", host=OFFICE)["domain"], len(tried("/attack", host=OFFICE)["rules"])) == (OFFICE, 1)


def test_a_disabled_rule_does_not_match(tried):
    rule(enabled=False)

    assert tried("/attack")["rules"] == []


def test_a_part_that_is_too_long_to_inspect_is_reported(tried, builtin):
    answer = tried(body="x" * 70_000)

    assert places(answer, "protocol-not-inspected")[0]["target"] == "body"


def test_nothing_is_recorded_counted_or_changed(tried, admin, builtin, settings):
    before = revisions.current()

    tried(UNION)

    assert revisions.current() == before
    assert (
        not any((settings.GATEWALL_HOME / "spool").glob("*")) if (settings.GATEWALL_HOME / "spool").exists() else True
    )
    assert admin.get("/access-logs").json()["results"] == []
    assert {each["hits"] for each in admin.get("/waf-rules", {"all": "true"}).json()["results"]} == {0}


def test_only_the_first_hundred_matching_rules_show_places(tried, monkeypatch):
    WafRule.objects.bulk_create(WafRule(name=f"r{n}", pattern="attack", targets=["uri"]) for n in range(105))
    rule("last", "attack")

    answer = tried("/attack")

    assert len(answer["rules"]) == 106
    assert [bool(each["places"]) for each in answer["rules"]] == [True] * 100 + [False] * 6
