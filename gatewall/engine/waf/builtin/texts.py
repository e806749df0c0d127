"""Rules for texts of several lines, where few others are reliable: attacks that no document contains by chance."""

from gatewall.engine.waf.builtin.rule import BuiltinRule
from gatewall.engine.waf.builtin.sqli import NOT_QUOTED
from gatewall.engine.waf.rules import Category, Severity, Target

_COMMANDS = (
    r"(?:cat|head|tail|less|more|nl|tac|od|xxd|base64|strings)\s+(?:-\S+\s+)*/etc/(?:passwd|shadow|group|hosts)\b"
    r"|(?:/usr)?/bin/(?:id|whoami|uname|cat|nc|bash\s+-i)\b|(?:whoami|uname\s+-a|ifconfig|ipconfig(?:\s*/all)?)[\t ]*(?:[;&)#\r]|$)"
    r"|(?:ping|sleep)\s+(?:-[cn]\s*)?\d+\s*(?:[;|&)]|$|\d)|nc\s+-\w*[el]|nslookup\s+\S+\.(?:oast|burp|dnslog|ceye|interact)"
)


def _rule(key: str, category: Category, pattern: str, reason: str) -> BuiltinRule:
    return BuiltinRule(key, pattern, category, Severity.CRITICAL, (Target.BODY,), reason)


TEXT_RULES = (
    _rule(
        "sqli-in-text",
        Category.SQLI,
        r"""(?i)['"]\s*\)*\s*(?:or|and|\|\||&&)\s*\(*\s*(?:'?\d+'?\s*(?:=|<|>|like)\s*'?\d|'[^'\r]{0,20}'\s*(?:=|like)\s*'|"[^"\r]{0,20}"\s*=\s*")"""
        r"""|\b\d+\s*\)*\s+(?:or|and)\s+\(*\s*(?:\d+\s*=\s*\d|'[^'\r]{0,20}'\s*=\s*')"""
        r"""|['"]\s*\)*\s*;\s*(?:drop|alter|truncate|exec|shutdown|waitfor|delete\s+from|insert\s+into|update\s+\w+\s+set)\b"""
        r"""|['"\d]\s*\)*\s*\b(?:union|except|intersect)\b[\s(]*(?:all\s+|distinct\s+)?[\s(]*select(?:$|"""
        + NOT_QUOTED
        + r""")|['"]\s*\)*\s*(?:or|and)\s+(?:exists\s*\(|\(?\s*select\b|\w+\s*\(\s*(?:\(\s*)?select\b)""",
        "a value that breaks out of a string and goes on with a condition or query, within a text",
    ),
    _rule(
        "rce-in-text",
        Category.RCE,
        r"(?i)(?:[;|]|&&|\$\(|[<>]\()\s*(?:" + _COMMANDS + r")|[;&]\s*id\s*(?:[;|&#]|$)|\|\s*id\s*(?:[;#]|$)"
        r"|^['\"]?\s*[;|&]?\r\s*\w+=\$\(|/dev/(?:tcp|udp)/[\w.\-]+/\d|\b(?:ba)?sh\s+-i\s+[<>]|\bos\.execute\s*\(|\bio\.popen\s*\(|\bgetruntime\s*\(\s*\)\s*\.\s*exec",
        "a command that explores a machine, within a text",
    ),
    _rule(
        "traversal-in-text",
        Category.TRAVERSAL,
        r"(?i)(?:\.\.[/\\]+){2,}(?:etc|windows|winnt|proc|boot\.ini|win\.ini)\b|\bfile:/{1,3}etc/(?:passwd|shadow)",
        "a path that climbs to a system file, within a text",
    ),
    _rule(
        "injection-in-text",
        Category.INJECTION,
        r"(?i)(?:\{\{|[$#@*]\{|<%=)\s*['\"]?\d+['\"]?\s*[*+]\s*['\"]?\d+['\"]?\s*(?:\}|%>)|__(?:mro|subclasses|globals|builtins)__\b[^\r]{0,40}[\[(.]"
        r"|[$#%]\{[^}\r]*(?:getruntime|processbuilder|java\.lang|#_memberaccess|freemarker\.template)|\bT\(\s*java\.lang"
        r"|<!entity\s+(?:%\s*)?[\w.\-]+\s+(?:system|public)\b|<xi:include\b[^>\r]*href",
        "an expression that a template engine evaluates, within a text",
    ),
)
