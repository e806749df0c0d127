"""Built-in WAF rules, by class of attack. Own patterns, written for RE2; data only.

The key of a rule is permanent: rows refer to it, so never reuse one.
"""

from gatewall.engine.waf.builtin.injection import INJECTION_RULES
from gatewall.engine.waf.builtin.others import OTHER_RULES
from gatewall.engine.waf.builtin.rce import RCE_RULES
from gatewall.engine.waf.builtin.rule import BuiltinRule
from gatewall.engine.waf.builtin.sqli import SQLI_RULES
from gatewall.engine.waf.builtin.texts import TEXT_RULES
from gatewall.engine.waf.builtin.traversal import TRAVERSAL_RULES
from gatewall.engine.waf.builtin.xss import XSS_RULES

BUILTIN_RULES: tuple[BuiltinRule, ...] = (
    *SQLI_RULES,
    *XSS_RULES,
    *TRAVERSAL_RULES,
    *RCE_RULES,
    *INJECTION_RULES,
    *OTHER_RULES,
    *TEXT_RULES,
)
