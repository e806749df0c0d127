"""Random access rules, paths and spellings: no spelling gets laxer access, and the index changes no outcome."""

from hypothesis import given
from hypothesis import strategies as st

from gatewall.engine.access_rules.conditions import CompiledRule
from gatewall.engine.access_rules.table import AccessRuleTable, unseen_parts
from gatewall.engine.hosts import STRICTNESS, Access
from gatewall.engine.model import Subject, SubjectKind
from tests.support.cast import OFFICE
from tests.unit.rule_facts import SHOWN, an_access_rule, some_facts

PUBLIC, AUTHENTICATED, TWO_FACTOR = Access.PUBLIC, Access.AUTHENTICATED, Access.TWO_FACTOR
PHISHING_RESISTANT, DENIED = Access.PHISHING_RESISTANT, Access.DENIED
DEV, FAMILY = 1, 2
BOB = Subject(SubjectKind.USER, 2, "Bob", user_id=2, group_ids=frozenset({DEV}))
BOBS_TOKEN = Subject(SubjectKind.GIT_TOKEN, 21, "Bob", user_id=2, group_ids=frozenset({DEV}))
LICENSE = Subject(SubjectKind.LICENSE, 31)


SEGMENT = st.sampled_from(["a", "b", "admin"])
PLAIN = st.lists(SEGMENT, max_size=4).map(lambda segments: "/" + "/".join(segments))
PATTERNS = st.tuples(
    st.sampled_from(["exact", "prefix", "glob"]), st.lists(st.sampled_from(["a", "b", "admin", "*", "**"]), max_size=3)
).map(lambda parts: f"{parts[0]} /{'/'.join(parts[1])}")
SUBJECTS = st.sampled_from([None, BOB, BOBS_TOKEN, LICENSE])
EACH_RULE = st.fixed_dictionaries(
    {
        "access": st.sampled_from(Access),
        "patterns": st.lists(PATTERNS, max_size=3),
        "domains": st.sampled_from([frozenset(), frozenset({OFFICE}), frozenset({OFFICE, "x"}), frozenset({"x"})]),
        "methods": st.sampled_from([frozenset(), frozenset({"GET"}), frozenset({"POST"})]),
        "groups": st.sampled_from([frozenset(), frozenset(), frozenset({DEV}), frozenset({FAMILY})]),
        "rate_per_minute": st.sampled_from([0, 0, 5]),
    }
)


@st.composite
def rule_lists(draw):
    return [
        an_access_rule(each.pop("access"), *each.pop("patterns"), id=number, **each)
        for number, each in enumerate(draw(st.lists(EACH_RULE, max_size=8)), 1)
    ]


def encoded(path, number):
    return path.replace("a", "%61", 1) if number == 1 else path.replace("a", "%2561", 1)


SPELLINGS = st.sampled_from(
    [
        lambda path: encoded(path, 1),
        lambda path: encoded(path, 2),
        lambda path: path.replace("/", "//", 1),
        lambda path: path.replace("/", "/./", 1),
        lambda path: path.replace("/", "/x/../", 1),
        lambda path: path.replace("/", "/x/%2e%2e/", 1),
        lambda path: path.replace("/", "/x/..;/", 1),
        lambda path: path.replace("/", "/x%2f..%2f", 1),
        lambda path: path.replace("/", "/x//..//../", 1),
        lambda path: path + ";p=1",
        lambda path: path + "/",
        lambda path: path + "//",
        lambda path: path + "/.",
        lambda path: path + "/x/..",
        lambda path: path + "%2f",
        lambda path: path[:1] + path[1:].replace("/", "\\"),
        lambda path: path[:1] + path[1:].replace("/", "%5c"),
    ]
)


@given(rule_lists(), PLAIN, st.lists(SPELLINGS, min_size=1, max_size=2), SUBJECTS, st.sampled_from(Access))
def test_no_spelling_of_a_path_gets_a_laxer_level(rules, path, spellings, subject, otherwise):
    table, spelled = AccessRuleTable(rules), path
    for spell in spellings:
        spelled = spell(spelled)

    plain = table.outcome(some_facts(path, subject=subject), otherwise)
    other = table.outcome(some_facts(spelled, subject=subject), otherwise)

    assert STRICTNESS.index(other.level) >= STRICTNESS.index(plain.level), spelled


@given(rule_lists(), st.lists(PLAIN, min_size=1, max_size=4), PLAIN, SUBJECTS, st.sampled_from(Access))
def test_adding_a_reading_never_widens(rules, readings, more, subject, otherwise):
    class Read(type(some_facts())):
        path_readings = tuple(readings)

    table, facts = AccessRuleTable(rules), Read(domain_name=OFFICE, subject=subject)
    few = table.outcome(facts, otherwise)
    Read.path_readings = (*readings, more)
    many = table.outcome(facts, otherwise)

    assert STRICTNESS.index(many.level) >= STRICTNESS.index(few.level)
    assert {rule.id for rule in few.rates} <= {rule.id for rule in many.rates}


def plainly(rules, facts, otherwise):
    """Return the outcome of walking over all rules for each reading, without an index."""
    compiled = [CompiledRule(rule, number) for number, rule in enumerate(rules)]
    unseen, met = unseen_parts(facts), []
    for path in facts.path_readings:
        found = (otherwise, None, 99)
        stricter = []
        for rule in compiled:
            if rule.first_failed(facts, path, unseen) is not None:
                continue
            is_unproved = rule.is_about_subjects and facts.subject is None and rule.rule.access is PUBLIC
            verdict = (AUTHENTICATED if is_unproved else rule.rule.access, rule.rule, rule.position)
            if rule.parts.isdisjoint(unseen):
                found = verdict
                break
            stricter.append(verdict)
        met += [found, *(each for each in stricter if rank(each[0]) > rank(found[0]))]
    return max(met, key=lambda each: (rank(each[0]), denies_all(*each[:2]), -each[2]))[:2]


def rank(access):
    return STRICTNESS.index(access)


def denies_all(access, rule):
    return access is DENIED and rule is not None and not rule.is_about_subjects


@given(
    rule_lists(),
    PLAIN,
    SPELLINGS,
    SUBJECTS,
    st.sampled_from(Access),
    st.sampled_from([SHOWN, SHOWN - {"uri"}, SHOWN - {"method"}]),
    st.sampled_from([OFFICE, None, "shop.example"]),
)
def test_table_gives_the_same_outcome_as_a_plain_walk(rules, path, spell, subject, otherwise, visible, domain):
    facts = some_facts(spell(path), subject=subject, visible=visible, domain_name=domain)

    found = AccessRuleTable(rules).outcome(facts, otherwise)

    assert (found.level, found.rule) == plainly(rules, facts, otherwise)
