"""``POST /waf-rules/test``: which rules a made-up request meets, where, and what comes of it.."""

import json
import logging

import pytest

from audit.masking import MASK
from gatewall import revisions, system_settings
from policies import services
from policies.builtin_rules import seed_waf_rules
from policies.models import WafRule
from tests.api.resources import fields_refused
from tests.cast import OFFICE, OPEN_LICENSE
from tests.patterns import put_compiled

pytestmark = pytest.mark.django_db
UNION = "/?id=1%27%20UNION%20SELECT%20password%20FROM%20users--"


@pytest.fixture
def tried(admin):
    """Return a function that tries the rules on a request and returns the answer."""

    def ask(uri="/", **parts):
        response = admin.post("/waf-rules/test", {"uri": uri, **parts})
        assert response.status_code == 200, response.json()
        return response.json()

    return ask


@pytest.fixture
def builtin(db, settings):
    put_compiled(settings.CONFIG)
    seed_waf_rules(actor="seed")


def rule(name="mine", pattern="attack", **values):
    return services.create_waf_rule(actor="alice", name=name, pattern=pattern, **values)


def places(answer, name="mine"):
    (found,) = (each["places"] for each in answer["rules"] if each["name"] == name)
    return found


def test_an_ordinary_request_meets_no_rule(tried, builtin):
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
def test_the_answer_is_that_of_auth(tried, auth, builtin, uri):
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
def test_the_form_says_how_the_text_was_read(tried, builtin, sent, form, text):
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


SECRET = OPEN_LICENSE


@pytest.mark.parametrize(
    ("target", "parts"),
    [
        ("uri", {"uri": f"/?token={SECRET}"}),
        ("uri", {"uri": f"/{SECRET}/a"}),
        ("path", {"uri": f"/{SECRET}/a"}),
        ("query", {"uri": f"/?a=1&b={SECRET}"}),
        ("query", {"uri": "/?password=hunter%3F22"}),
        ("args", {"uri": f"/?q={SECRET}"}),
        ("args", {"uri": "/?password=hunter%3F22"}),
        ("args", {"uri": "/?" + "a=b&" * 70 + "password=hunter%3F22"}),
        ("arg-names", {"uri": f"/?{SECRET}=1"}),
        ("headers", {"headers": {"X-Auth-Token": "hunter?22"}}),
        ("headers", {"headers": {"Cookie": "__Host-session=hunter?22"}}),
        ("headers", {"headers": {"X-Other": f"Bearer {SECRET}"}}),
        ("cookies", {"headers": {"Cookie": "__Host-session=hunter?22"}}),
        ("cookies", {"headers": {"Cookie": "; ".join(f"c{n}=x" for n in range(70)) + "; sid=hunter?22"}}),
        ("referer", {"headers": {"Referer": "https://shop.example/?password=hunter?22"}}),
        ("user-agent", {"headers": {"User-Agent": f"bot {SECRET}"}}),
        ("body", {"body": '{"password": "hunter?22"}'}),
        ("body", {"body": "<login><password>hunter?22</password></login>"}),
        ("body", {"body": "user=anna&password=hunter?22"}),
        ("body", {"body": 'Content-Disposition: form-data; name="password"\r\n\r\nhunter?22'}),
    ],
    ids=str,
)
def test_a_secret_is_in_no_answer_and_no_log(tried, caplog, target, parts):
    caplog.set_level(logging.DEBUG)
    rule(pattern=r"hunter.{1,3}22|nter\S+|(?i)gwl_\w+|CCCCCCCC\w*", targets=[target])

    answer = tried(**parts)

    assert answer["blocked"] is True
    assert {place["text"] for place in places(answer)} == {MASK}
    for secret in ("hunter", SECRET, "CCCCCCCC"):
        assert secret not in json.dumps(answer)
        assert secret not in caplog.text


def test_a_secret_beside_the_match_hides_nothing_of_it(tried):
    rule(targets=["uri"])

    assert places(tried(f"/attack?token={SECRET}"))[0]["text"] == "attack"


def test_credentials_meet_no_rule(tried):
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


def test_bytes_that_are_no_text_are_written_out(tried):
    rule(pattern=".", targets=["args"], action="monitor")

    assert places(tried("/?q=%ff"))[0]["text"] == "\\xff"
    assert places(tried("/?q=%C3%A4"))[0]["text"] == "\\xc3"


def test_scores_add_up_by_category_and_monitor_stays_apart(tried):
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
def test_exclusions_hold(tried, office, exclusion, spared, met):
    rule(targets=["args"], exclusions=[exclusion])

    assert tried(**spared)["rules"] == []
    assert [each["name"] for each in tried(**met)["rules"]] == ["mine"]


def test_an_excluded_argument_is_no_place(tried):
    rule(targets=["args"], exclusions=[{"argument": "q"}])

    assert [place["name"] for place in places(tried("/?q=attack&r=attack"))] == ["r"]


def test_a_rule_of_a_domain_is_tried_at_its_host(tried, office):
    rule(domain=office)

    assert tried("/attack")["rules"] == []
    assert (tried("/attack", host=OFFICE)["domain"], len(tried("/attack", host=OFFICE)["rules"])) == (OFFICE, 1)


def test_a_rule_that_is_off_is_not_met(tried):
    rule(enabled=False)

    assert tried("/attack")["rules"] == []


def test_a_part_that_is_too_long_to_be_looked_at_is_told(tried, builtin):
    answer = tried(body="x" * 70_000)

    assert places(answer, "protocol-not-inspected")[0]["target"] == "body"


def test_a_draft_is_tried_with_the_others_and_not_saved(tried):
    saved = rule("saved", "att", score=3)
    before = revisions.current()

    answer = tried("/attack", rule={"name": "new", "pattern": "tack", "score": 2})

    assert answer["blocked"] is True
    assert [(each["name"], each["id"], each["draft"]) for each in answer["rules"]] == [
        ("saved", saved.pk, False),
        ("new", None, True),
    ]
    assert places(answer, "new")[0]["text"] == "tack"
    assert (revisions.current(), WafRule.objects.count()) == (before, 1)


def test_a_draft_stands_in_the_place_of_the_rule_of_its_name(tried):
    saved = rule(score=3)

    answer = tried("/attack", rule={"name": "mine", "pattern": "tack", "score": 5, "action": "monitor"})
    off = tried("/attack", rule={"name": "mine", "pattern": "tack", "enabled": False})

    assert [(each["id"], each["draft"], each["score"]) for each in answer["rules"]] == [(saved.pk, True, 5)]
    assert places(answer)[0]["text"] == "tack"
    assert (answer["blocked"], off["rules"]) == (False, [])


def test_a_draft_that_matches_everything_is_tried_with_a_warning(tried):
    answer = tried("/", rule={"name": "all", "pattern": ".*"})

    assert answer["blocked"] is True
    (warning,) = answer["warnings"]
    assert "force" in warning


@pytest.mark.parametrize(
    ("draft", "field"),
    [
        ({"pattern": "a"}, "rule.name"),
        ({"name": "new"}, "rule.pattern"),
        ({"name": "new", "pattern": "(?=a)b"}, "rule.pattern"),
        ({"name": "new", "pattern": r"(a)\1"}, "rule.pattern"),
        ({"name": "new", "pattern": "x" * 4097}, "rule.pattern"),
        ({"name": "new", "pattern": "a", "targets": ["nowhere"]}, "rule.targets"),
        ({"name": "new", "pattern": "a", "score": 11}, "rule.score"),
        ({"name": "new", "pattern": "a", "domain": "nobody.example"}, "rule.domain"),
        ({"name": "new", "pattern": "a", "id": 1}, "rule.id"),
        ({"name": "xss-script-tag", "pattern": "a"}, "rule.name"),
        ("a", "rule"),
        (None, "rule"),
    ],
    ids=str,
)
def test_a_draft_that_could_not_be_saved_is_refused(admin, draft, field):
    WafRule.objects.create(name="xss-script-tag", pattern="a", builtin_key="xss-script-tag")

    assert fields_refused(admin.post("/waf-rules/test", {"uri": "/", "rule": draft})) == {field}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "uri"),
        ({"uri": 5}, "uri"),
        ({"uri": "/" * 16_385}, "uri"),
        ({"uri": "/", "method": None}, "method"),
        ({"uri": "/", "headers": []}, "headers"),
        ({"uri": "/", "headers": {"Host": "a"}}, "headers"),
        ({"uri": "/", "headers": {"A": "b\nc"}}, "headers"),
        ({"uri": "/", "body": {"a": 1}}, "body"),
        ({"uri": "/", "body": "x" * 131_073}, "body"),
        ({"uri": "/", "client_ip": "192.0.2.1"}, "client_ip"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_no_request_is_refused(admin, body, field):
    assert fields_refused(admin.post("/waf-rules/test", body)) == {field}


@pytest.mark.parametrize(
    "parts", [{"uri": "no path"}, {"uri": "/a#b"}, {"method": "get"}, {"host": "a b"}, {"uri": "/\n"}], ids=str
)
def test_what_the_gate_finds_malformed_no_rule_sees(tried, parts):
    rule(pattern="^", force=True)

    answer = tried(**{"uri": "/", **parts})

    assert answer["fault"]
    assert (answer["rules"], answer["blocked"]) == ([], False)


def test_nothing_is_recorded_counted_or_changed(tried, admin, builtin, settings):
    before = revisions.current()

    tried(UNION)

    assert revisions.current() == before
    assert (
        not any((settings.GATEWALL_HOME / "spool").glob("*")) if (settings.GATEWALL_HOME / "spool").exists() else True
    )
    assert admin.get("/access-logs").json()["results"] == []
    assert {each["hits"] for each in admin.get("/waf-rules", {"all": "true"}).json()["results"]} == {0}


def test_of_very_many_rules_the_first_hundred_show_places(tried, monkeypatch):
    WafRule.objects.bulk_create(WafRule(name=f"r{n}", pattern="attack", targets=["uri"]) for n in range(105))
    rule("last", "attack")

    answer = tried("/attack")

    assert len(answer["rules"]) == 106
    assert [bool(each["places"]) for each in answer["rules"]] == [True] * 100 + [False] * 6
