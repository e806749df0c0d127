"""Create rules to try, and read where an answer of ``POST /waf-rules/test`` shows a match."""

from policies import services


def rule(name="mine", pattern="attack", **values):
    return services.create_waf_rule(actor="alice", name=name, pattern=pattern, **values)


def places(answer, name="mine"):
    (found,) = (each["places"] for each in answer["rules"] if each["name"] == name)
    return found
