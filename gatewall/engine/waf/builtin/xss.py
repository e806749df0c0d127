"""Cross-site scripting."""

from gatewall.engine.waf.builtin.rule import EVERYTHING_SENT, BuiltinRule
from gatewall.engine.waf.rules import Category, Severity


def _rule(key: str, pattern: str, reason: str, score: int = 5, severity: Severity = Severity.HIGH) -> BuiltinRule:
    return BuiltinRule(f"xss-{key}", pattern, Category.XSS, severity, EVERYTHING_SENT, reason, score)


_EVENTS = (
    r"on(?:abort|activate|after\w+|animation\w+|auxclick|before\w+|begin|blur|bounce|canplay\w*|cell\w+|change|click"
    r"|close|contextmenu|copy|cuechange|cut|data\w+|dblclick|deactivate|drag\w*|drop|durationchange|emptied|end|ended"
    r"|error\w*|filterchange|finish|focus\w*|formdata|fullscreen\w*|got\w+|hashchange|help|input|invalid|key\w+"
    r"|layout\w+|load\w*|lose\w+|media\w+|message\w*|mouse\w+|move\w*|mspointer\w+|mutation\w+|offline|online"
    r"|outofsync"
    r"|page\w+|paste|pause|play\w*|pointer\w+|popstate|progress|property\w+|ratechange|ready\w+|repeat|reset"
    r"|resize\w*"
    r"|resume|reverse|row\w+|scroll\w*|search|seek\w+|select\w*|show|start|stop|storage|submit|suspend|sync\w+"
    r"|time\w*|toggle\w*|touch\w+|track\w+|transition\w+|unhandled\w+|unload|url\w+|volumechange|waiting|webkit\w+"
    r"|wheel|zoom)"
)

_NAME_ENDS = r"(?:[\s/>+\x00-\x1f:<&%=(\\#;-]|$)"
"""Characters that may follow the name of an element; not a quote or comma, which follow it in error messages."""

XSS_RULES = (
    _rule("script-tag", r"(?i)<[/\s]*(?:[\w\-]+:)?script" + _NAME_ENDS, "a script element in a value"),
    _rule(
        "event-handler",
        r"(?i)<[a-z!/?%][^>]*[\s/'\"`\x0b\xa0]on[a-z]{3,30}[\s\x0b]*=",
        "an element with an event handler",
    ),
    _rule(
        "attribute-handler",
        r"(?i)(?:^|[\s/'\"`>;\x0b]|%0[0-9a-d])" + _EVENTS + r"[\s\x0b]*=[\s\x0b]*[^\s=&\d]"
        r"|['\"`]\s*(?:formaction|srcdoc|xlink:href)\s*=",
        "an event handler that breaks out of an attribute",
    ),
    _rule(
        "script-url",
        r"(?i)(?:j[\s\x00-\x08\x0b]*a[\s\x00-\x08\x0b]*v[\s\x00-\x08\x0b]*a|v[\s\x00-\x08\x0b]*b"
        r"|l[\s]*i[\s]*v[\s]*e)[\s\x00-\x08\x0b]*s[\s\x00-\x08\x0b]*c[\s\x00-\x08\x0b]*r[\s\x00-\x08\x0b]*i[\s\x00-\x08\x0b]*p[\s\x00-\x08\x0b]*t[\s\x00-\x08\x0b]*:(?:[^;\s+v]"
        r"|v(?:$|[^o]|o(?:[^i]|i(?:[^d]|d(?:[^\s(]|\s*\(\s*[^0\s]))))|[\s+]+(?:(?:[a-uw-z0-9_][\w.]*|v(?:[a-np-z0-9_.][\w.]*|o(?:[a-hj-z0-9_.][\w.]*)?)?)[\s]*[(`=\[]|//|/\*))",
        "a URL that is a script",
    ),
    _rule(
        "active-element",
        r"(?i)<[\s/]*(?:\w+:)?(?:iframe|frame|frameset|embed|object|applet|meta|base|svg|math|isindex|layer|ilayer"
        r"|bgsound|xml|xss|import|foreignobject|animate\w*|set|handler|listener|keygen|marquee|portal|template"
        r"|noscript|xmp|plaintext|listing|dialog|noembed)(?:[\s/>+\x0b'\"]|$)",
        "an element that loads or runs something",
    ),
    _rule(
        "element",
        r"(?i)<[/!]?(?:a|abbr|audio|b|body|bdo|big|br|button|canvas|center|details|div|dl|fieldset|font|form|h[1-6r]"
        r"|head|html|i|image|img|input|ins|label|legend|li|link|map|menu|nav|ol|option|p|param|picture|pre|q|s"
        r"|section|select|slot|source|span|strong|style|table|tbody|td|textarea|th|title|tr|track|u|ul|var|video|x"
        r"|foo|doctype)(?:[\s/>\x0b]|$)",
        "an HTML element",
        3,
    ),
    _rule(
        "loading-element",
        r"(?i)<[a-z!/?%][^>]*[\s/'\"`\x0b](?:src|srcset|srcdoc|href|xlink:href|data|action|formaction|poster"
        r"|background|lowsrc|dynsrc|style|code|codebase|archive|values|from|to|attributename|http-equiv|content"
        r"|autofocus|contenteditable|tabindex|accesskey|classid|url|folder|profile|usemap|longdesc|manifest|icon|id"
        r"|name|type|value)[\s\x0b]*=",
        "an element with an attribute that loads or shows something",
    ),
    _rule(
        "script-call",
        r"(?i)(?:^|[^\w$])(?:alert|confirm|prompt|eval|execscript|msgsetimmediate|settimeout|setinterval"
        r"|setimmediate|importscripts|\$\.globaleval|fromcharcode|atob|open|fetch|function|write(?:ln)?|print"
        r"|decodeuri(?:component)?|unescape)[\s\x0b]*(?:\(|`|\?\.|\.call|\.apply|\.bind|&lpar;|\])",
        "a call of the functions that show or run a script",
        3,
    ),
    _rule(
        "alert",
        r"(?i)(?:^|[^\w$.])(?:alert|confirm|prompt)(?:[\s\x0b/*]*(?:\(|`)|\s*\?\.\s*\(|\.(?:call|apply|bind)\b"
        r"|&lpar;)(?:[\s'\"`/(\[{]*(?:\d|xss\b|document\b|window\b|self\b|top\b|this\b|location\b|origin\b|name\b|parent\b|cookie\b"
        r"|hello\b|test\b|hacked|poc\b|string\b|/|\$|`|\))|\s*['\"`/\[{])|(?:^|[^\w$.])(?:alert|confirm|prompt)(?:[\x0b/*]*[(`]|\s*\?\.\s*\("
        r"|\.(?:call|apply|bind)\b|&lpar;)\s*[(\[{]*[a-z]|\[\s*/\w+/\.source\s*\+|\b(?:sort|map|filter|find|some"
        r"|every|call|apply|foreach)\s*(?:\.\s*call\s*)?(?:`|\()[^)]*(?:alert|confirm|prompt|eval|`)"
        r"|[\[.]\s*['\"`]?(?:alert|confirm|prompt|eval)['\"`]?\s*\]?\s*\(|=\s*(?:alert|confirm|prompt"
        r"|eval)\s*[,;)\]}]|[;{}='\"`]\s*throw\s+\w|\b(?:al|ev|con|pro)['\"]\s*\+\s*['\"](?:ert|al|firm|mpt)",
        "alert() and its like, which prove that a script runs",
    ),
    _rule(
        "page-access",
        r"(?i)\b(?:document|window|self|top|parent|frames|globalthis|location|this)\s*(?:\?\.|\."
        r"|\[)\s*['\"`]?(?:cookie|domain|write(?:ln)?|body|forms|referrer|documentelement|location|localstorage"
        r"|sessionstorage|onerror|alert|eval|name\b|open|innerhtml|createelement|getelement\w*|queryselector"
        r"|defaultview|implementation|execcommand|scripts|constructor|href\s*=|replace|assign|hash\b|search\b|"
        r"frames|atob|\w+['\"`]\s*(?:\]|\+))",
        "what a script takes from the page or window",
    ),
    _rule(
        "dom-write",
        r"(?i)\.\s*(?:innerhtml|outerhtml|insertadjacenthtml|createcontextualfragment|createelement|appendchild"
        r"|parsehtmlunsafe|sethtml\w*|postmessage|addeventlistener|fromcharcode|fromcodepoint)\b|\bnew\s+(?:function"
        r"|image|worker)\s*[(;`)]|\bnew\s+(?:xmlhttprequest|activexobject|websocket|eventsource)\b|\bwith\s*\(\s*(?:document|window"
        r"|location)|\bstring\s*\.\s*fromc|\breflect\s*\.\s*(?:apply|construct)",
        "what a script does to the page",
    ),
    _rule(
        "constructor",
        r"(?i)(?:\bconstructor|\]|\.|\))\s*(?:\.|\[)\s*['\"`]?(?:constructor|fromcharcode|filter|map|find|sort"
        r"|at)['\"`]?\s*\]?\s*[(`]\s*['\"`a-z$]{1,3}[^)]*(?:alert|eval|confirm|prompt|document|return|import|require"
        r"|constructor)|\bconstructor\s*(?:\.|\[)\s*['\"`]?(?:constructor|prototype)|\bconstructor\s*\(\s*['\"`]"
        r"|\[\s*['\"`]constructor['\"`]\s*\]|__proto__|\bprototype\s*(?:\[|\.\s*(?:constructor|__\w|\w+\s*[=(\[]))",
        "the way from an object to the function that runs text",
    ),
    _rule(
        "data-url",
        r"(?i)\bdata[\s]*:[\s]*(?:"
        r",)?[^,]{0,40}(?:;\s*base64)?,\s*(?:<|%3c|PHN|PD9|PGh|ICA8|alert)"
        r"|\bdata\s*:\s*text/html",
        "a URL that is a document with a script",
    ),
    _rule(
        "style-script",
        r"(?i)\bexpression[\s]*\(|-moz-binding\s*:|\bbehaviou?r\s*:\s*url|@import\b[\s'\"(]|@charset\b"
        r"|\bstyle\s*=[^<>]*(?:expression|url\s*\(|behavior|-moz-|binding|\\\w)|\burl\s*\(\s*['\"]?\s*(?:javascript"
        r"|vbscript|data:text)|<style[^>]*>[\s]*[@=\\{*]|@keyframes\s",
        "a style that runs a script",
    ),
    _rule(
        "no-letters",
        r"(?:\[\]|!\[\]|!!\[\]|\(\[\]|\{\}\+|\+\[\]|\[!\[\]|\[\+\[|\)\[\+|\(!\[){3}|(?:[!+]*\[[!+]*\][!+]*[()]*){5}",
        "a script written without letters",
    ),
    _rule(
        "closing-quote",
        r"""(?i)['"`]\s*/?\s*>\s*(?:<[a-z!/%]|$)|-->\s*<|\]\]>\s*<|</(?:title|textarea|style|script|noscript"""
        r"""|iframe|xmp|template|svg)\b""",
        "a quote that ends an attribute and begins an element",
        4,
    ),
    _rule(
        "utf-7",
        r"\+ADw-|\+ADw[A-Za-z]{2,8}\+AD4|\+ACI(?:APg|-)|(?i:(?:^|[\x00-\x7f\xc2])\xbc/?(?:script|img|svg|iframe|body|input|video)\b|(?:^|[\x00-\x7f\xc2])\xbca\s)",
        "an element in UTF-7 or US-ASCII with the high bit set",
    ),
    _rule(
        "script-text",
        r"""(?i)['"`;})][\s;]*[-+*/,;&|^]\s*(?:alert|confirm|prompt|eval|document|window|self|top|location"""
        r"""|settimeout|function|import|throw|delete|typeof|new|void)\b[.(\[`]|[;}]\s*(?:var|let"""
        r"""|const)\s+\w+\s*=|\bimport\s*\(\s*['"`]|=>\s*\{|\bfunction\s*\w*\s*\([^)]*\)\s*\{|\bset\.constructor"""
        r"""|\b(?:alert|prompt|confirm)\(""",
        "a script that goes on where a string ended",
        4,
    ),
    _rule(
        "odd-element",
        r"(?i)<[a-z][\w:\-]*(?:[/\x0b\x0c][^>\s]|[\s/]+[\w:\-]+\s*=\s*['\"`\w(&])[^>]*(?:>|$)"
        r"|<[a-z]+[^a-z0-9<>\s.,;:=/()]{1,3}[a-z]+\s*=|<\s*/?\s*[a-z]+\s*(?:&\w|\x00)|<\?(?:xml|import)\b|<%\s*\w"
        r"|<!\[(?:CDATA|if)\b|<!--\[if\b|<!(?:attlist|element)\b",
        "an element of any name with attributes",
        4,
    ),
    _rule(
        "spaced-element",
        r"(?i)<\s*(?:s\s*c\s*r\s*i\s*p\s*t|f\s+o\s*r\s*m|i\s+f\s*r\s*a\s*m\s*e|d\s+i\s*a\s*l\s*o\s*g"
        r"|o\s+b\s*j\s*e\s*c\s*t|i\s+m\s*g|s\s+v\s*g|e\s+m\s*b\s*e\s*d|b\s+o\s*d\s*y|m\s+e\s*t\s*a)"
        + _NAME_ENDS
        + r"|<\s*\w+\s*:\s*script|<:?vmlframe\b",
        "an element with spaces in its name, to get past a filter",
    ),
    _rule(
        "framework",
        r"(?i)\{\{[^}]*(?:constructor|\$on|\$eval|\$apply|alert|toString|\[\s*['\"`\]])[^}]*\}?",
        "an expression that a framework runs",
    ),
    _rule(
        "weak-sign",
        r"(?i)\bng-(?:app|csp|click|focus|mouse\w+|init|include|bind-html)\b|\bv-(?:html|on:|bind:|if|for)"
        r"|\bx-(?:data|init|html|on:\w+)\s*=|\bhx-(?:on|get|post|vals)\b|\bdata-bind\s*="
        r"|\bthrow\s+\w|\bprototype\s*\.|\bnew\s+(?:function|image|worker)\b",
        "an attribute of Vue, Alpine or htmx, or a word of JavaScript",
        3,
    ),
)
