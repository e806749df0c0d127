"""SQL injection."""

from gatewall.engine.waf.builtin.rule import ALL_BUT_REFERER, EVERYTHING_SENT, BuiltinRule
from gatewall.engine.waf.rules import Category, Severity, Target

_BREAKS_OUT = EVERYTHING_SENT
"""Includes the referer: a value that ends a string and continues is not a search for words."""


def _rule(
    key: str,
    pattern: str,
    reason: str,
    score: int = 5,
    severity: Severity = Severity.HIGH,
    targets: tuple[Target, ...] = ALL_BUT_REFERER,
) -> BuiltinRule:
    return BuiltinRule(f"sqli-{key}", pattern, Category.SQLI, severity, targets, reason, score)


NOT_QUOTED = r"""(?:[^'"\w]|['"][^'"]*['"]\s*(?:,|from\b|--|#))"""
"""Text after a keyword, unless the keyword ends a quotation such as "union select"."""
_SCHEMA_OBJECT = r"(?:table|database|schema|view|procedure|function|index|column|trigger|user|login)"

SQLI_RULES = (
    _rule(
        "union-select",
        r"(?i)['\")\d]\s*\)*\s*\bunion\b(?:[^a-z/]|/\*)*(?:(?:all|distinct|distinctrow)\b(?:[^a-z/]|/\*)*)?select"
        + NOT_QUOTED
        + r"|\bunion\b(?:[^a-z/]|/\*)*(?:(?:all|distinct|distinctrow)\b(?:[^a-z/]|/\*)*)?select\b(?:[\s(+/*\-!]+['\"]|[\s(+/*\-!]*(?:[\d@`(*#;]|\x00"
        r"|null\b|all\b|distinct\b|char\b|n?chr\b|concat|group_|load_|user\b|version|database|password|pass\b|unhex"
        r"|hex\b|cast\b|convert\b|top\b|case\b|if\b|sleep|benchmark|table_|column_|schema|name\b|[a-z_]\w*\s*(?:,\s*(?:\d|null\b|['\"@(]|[a-z_]\w*\s*(?:[,(;]|from\b"
        r"|--|#|$))|\(|\.[a-z_]\w*\s*(?:,|from\b)|--|#|;|from\b))|[\s+]*$|--)",
        "UNION SELECT appends the attacker's rows to a query",
        severity=Severity.CRITICAL,
    ),
    _rule(
        "tautology",
        r"""(?i)['"`)]\s*\)*\s*(?:\bx?or\b|\band\b|\|\||&&|\bnot\b|\bhaving\b|\bwhere\b"""
        r"""|\bdiv\b)[\s(!~+\-]*(?:not[\s(]*|binary\s*|exists[\s(]*)?"""
        r"""(?:'[^'<>]*'?|"[^"<>]*"?|`[^`]*`|\d[\w.]*|@@?\w+|\w+\([^()]*\)|null|true|false)[\s)]*"""
        r"""(?:=|[<>]=?|!=|\|\||--|#|\blike\b|\brlike\b|\bregexp\b|\bsounds\s|\bbetween\b|\bin\s*\(|\bis\s|;)"""
        r"""|\d\s*\)*\s*(?:\b(?:x?or|and|having|where|div)\b|&&)[\s(!~+\-]*(?:not[\s(]*)?(?:'[^'<>]*'?|"[^"<>]*"?"""
        r"""|\d+|@@?\w+|\w+\([^()]*\)|null|true|false)[\s)]*(?:=|<=>|<>|!=|[<>]\s*\d|--|#|\blike\b|\brlike\b"""
        r"""|\bregexp\b|\bbetween\s+\d|\bin\s*\()|\d\s*\)*\s+or[\s(!]+(?:true|not\s+false)\s*(?:$)""",
        "a quote or number followed by a comparison that is always true",
        severity=Severity.CRITICAL,
        targets=_BREAKS_OUT,
    ),
    _rule(
        "comparison",
        r"""(?i)\(\s*(?:\d+\s*=\s*\d+|'[^']*'\s*=\s*'[^']*'?)\s*\)\s*[*/+\-]|(?:^|[\s)'"`\d(&|])(?:or|and|having"""
        r"""|where|xor)[\s(+\-!~]+(?:not\s+)?(?:['"`]?\d+['"`]?\s*(?:=|<=>|[<>]|!=|like|rlike|regexp)|['"`]?[a-z]{1,8}"""
        r"""['"`]?\s*(?:=|<=>|!=|like|rlike|regexp)|[a-z]{1,8}[<>])\s*[('"`]?(?:\d|['"`(]|select\b|(?:ascii|cast|cha?r"""
        r"""|coalesce|concat|convert|count|database|hex|if|length|load_file|lower|md5|mid|now|ord|rand|sha1|sleep|substr"""
        r"""|substring|system_user|unhex|upper|user|version)\s*\()""",
        "AND or OR with a comparison of constants",
    ),
    _rule(
        "quote-operator",
        r"""(?i)['"`]\s*(?:(?:\|\||&&|\bx?or\b|\band\b|\blike\b|\brlike\b|\bregexp\b|\bdiv\b|\bin\b|\bis\b|=|<=>"""
        r"""|<>|!=|\^|\*|%|/)\s*['"`(]|\+\s*['"`(]\s*(?:\+|select|char|chr|n?varchar|@|$))""",
        "a quote that ends a string and goes on with an operator and another string",
        4,
    ),
    _rule(
        "comment-end",
        r"""(?i)(?:['"`]|['"`)\d]\s*[;)]|\bor\b[^=]*=[^=]*)\s*\)*\s*;?\s*(?:--[\s+\-]*|#|/\*[\s!]*|;\s*%00|;\x00)$""",
        "a value that ends a string and comments the rest of the query out",
        targets=_BREAKS_OUT,
    ),
    _rule(
        "stacked-query",
        r"(?i);[\s)(]*(?:(?:drop|alter|create|truncate|rename)\s*[\[`]|(?:drop|alter|create|truncate|rename)\s+(?:table|database|user|schema|view|index|function"
        r"|procedure|column|login|role|trigger|extension|or\s+replace|temp)|shutdown\s*(?:$|;|--|with)"
        r"|backup\s+(?:database|log)|grant\s+[\w\s,]+\s(?:on|to)\s|revoke\s+[\w\s,]+\son\s|declare\s+[@\w]"
        r"|exec(?:ute)?[\s(]+(?:[@\w'\"(])|call\s+\w+\s*\(|waitfor\s|insert\s+into|delete\s+from"
        r"|update\s+\w+\s+set|select\b[\s(]*(?:\*|[\w.]+\s*(?:,|\(|from\b)|@@|\d|'|case\b)|set\s+@|begin\s+(?:tran"
        r"|declare|dbms)|if\s*\(|merge\s+into|load\s+data|copy\s+\w+\s+from|print\s+['\"@]|dbcc\s)",
        "a second statement behind a semicolon",
        severity=Severity.CRITICAL,
        targets=_BREAKS_OUT,
    ),
    _rule(
        "time-delay",
        r"(?i)\b(?:pg_sleep(?:_for|_until)?|sleep)\s*\(\s*(?:\d+(?:\.\d*)?\s*(?:[),*/+\-]|$)|['(])"
        r"|\bbenchmark\s*\([^,]*,|\bwaitfor\s+(?:delay|time)\s*['\d]|\bdbms_pipe\.receive_message\b"
        r"|\brandomblob\s*\(|\bgenerate_series\s*\(",
        "a delay function, used to read a database through its answer time",
        targets=EVERYTHING_SENT,
    ),
    _rule(
        "cast",
        r"(?i)['\")\w\]]\s*::\s*(?:int(?:eger)?|bigint|smallint|numeric|text|varchar|char|jsonb?|date|bytea|regclass"
        r"|float|bool(?:ean)?|xml|timestamp)\b|\)\s*like\s*\(|\b2\.2250738585072011e-308\b|\bjson(?:b_\w+|_extract"
        r"|_value|_query|_array_\w+|_object_\w+|_search|_contains\w*|_each|_tree)\s*\(|'\s*(?:@>|<@|\?\||\?&|#>>?"
        r"|->>?|\?)\s*(?:'|array\s*\[|/\*)|'\s*[<>@]\s*'\$\.|\b(?:lo_get|lo_put|unistr|unicode_\w+|xmlparse"
        r"|starts_with|regexp_\w+)\s*\(|\bdiv\s*\(\s*\d",
        "a conversion or JSON operator of SQL",
    ),
    _rule(
        "select-columns",
        r"(?i)\bselect\b[\s(]+(?:distinct\s+|top\s+\d+\s+|all\s+)?(?:@@\w+|count\s*\(|(?:group_)?concat|char\s*\("
        r"|chr\s*\(|null\b|0x|'|\(\s*select|case\s+(?:[\w('\"`]+\s*)?when\b|if\s*\(|(?:user|version|database|password|login)\s*(?:[(),;]|--|#|/\*)|current_|sleep\s*\(|benchmark\s*\("
        r"|cast\s*\(|convert\s*\(|load_file|pg_|dbms_|utl_|xmltype|extractvalue|hex\s*\(|substr|mid\s*\(|ascii\s*\("
        r"|length\s*\(|min\s*\(|max\s*\()",
        "SELECT with what only an attacker asks for through a parameter",
    ),
    _rule(
        "select-from",
        r"""(?i)\bselect\b[^;=<>]+\bfrom\b[\s(]*[\w"`\[.@]+(?:\s*(?:$|;|--|#|\)|,|/\*)|\s+(?:where|limit|order"""
        r"""|group|union|having|join|as|into)\b)""",
        "SELECT ... FROM with what follows in a query",
        2,
    ),
    _rule(
        "select-list",
        r"(?i)\bselect\b[\s(]+(?:distinct\s+|top\s+\d+\s+|all\s+)?(?:\*|\d|[\w.`\"\[\]]+\s*,)[^;]*\bfrom\b",
        "SELECT with a list of columns",
        2,
    ),
    _rule(
        "subquery",
        r"(?i)\(\s*select\b[\s(]*(?:(?:distinct|all|top\s+\d+)\s+)?(?:[*'\"@`\d]|case\b|\w[\w.]*\s*(?:[(),;|]|from\b|as\b|--|#"
        r"|/\*|$))|[=,<>|+]\s*select\b[\s(]*(?:(?:distinct|all|top\s+\d+)\s+)?(?:[*'\"@`\d]|case\b|\w[\w.]*\s*(?:[(,]|from\b|--|#))",
        "a query inside an expression",
    ),
    _rule(
        "catalogue",
        r"(?i)\binformation_schema\b|\bsys(?:objects|columns|databases|logins|users|comments|processes|files|indexes"
        r"|xlogins)\b|\bsys\.(?:objects|tables|columns|databases|user_\w+|all_\w+|dba_\w+)\b|\b(?:all"
        r"|user|dba)_(?:tables|tab_columns|users|objects|catalog|constraints|source|views)\b|\bsqlite_(?:master"
        r"|temp_master|schema|version)\b|\bpg_(?:catalog|shadow|user|tables|class|database|stat_activity|read_file"
        r"|ls_dir)\b|\bmysql\s*\.\s*(?:user|db|host|innodb_)|\bmsys(?:objects|aces|queries|relationships)\b"
        r"|\bv\$(?:version|instance|session|database)\b|@@(?:version|hostname|datadir|servername|basedir|global"
        r"|language|spid|identity)\b|\b(?:northwind|tempdb)\s*\.|\brdb\$(?:relations|database)|\bmaster\s*\.\.?\s*sys",
        "a table or variable that describes the database itself",
    ),
    _rule(
        "dangerous-function",
        r"(?i)\b(?:polygon|linestring|multi(?:point|linestring|polygon)|geometrycollection)\s*\(+\s*(?:select\b|['\"`~!@*]|\w+\s*\()"
        r"|\b(?:extractvalue|updatexml|load_file|group_concat|name_const|gtid_subset|gtid_subtract"
        r"|st_latfromgeohash|xmltype"
        r"|to_timestamp_tz|utl_(?:http|inaddr|file|smtp|tcp)(?:\.\w+)?|dbms_(?:java|xmlgen|xmlquery|ldap"
        r"|random|utility|assert)|httpuritype|sys_context|sys_eval|sys_exec|lo_(?:import|export)|xp_(?:"
        r"regwrite|regdelete|fileexist|subdirs|makecab|servicecontrol|enumdsn|loginconfig|ntsec"
        r"|terminate|availablemedia)|sp_(?:oamethod|addextendedproc"
        r"|addlogin|addsrvrolemember|configure|helpdb|who)|openrowset|opendatasource|openquery|is_srvrolemember"
        r"|is_member|has_dbaccess|fn_(?:virtualfilestats|xe_file_target_read_file|get_audit_file|trace_gettable)"
        r"|query_to_xml|database_to_xml|table_to_xml|cursor_to_xml|json_keys|procedure\s+analyse|bulk\s+insert"
        r"|make_set|export_set|row_count|found_rows|last_insert_id|ifnull|nullif|bit_xor|crc32|uncompress|aes_(?:en"
        r"|de)crypt|des_(?:en|de)crypt|pg_client_encoding|quote_ident|quote_literal|string_agg|array_agg|unhex"
        r"|binary_checksum|newid|charindex|nvarchar|sqlite_compileoption|load_extension|writefile|readfile"
        r"|fts3_tokenizer|find_in_set|sqlite_compileoption_(?:used|get)|get_lock|release_lock|is_(?:free|used)_lock|json_(?:arrayagg|objectagg)|st_(?:as|geom|point)\w*from\w+|pg_sleep_\w+|weight_string|uuid_short|inet6?_(?:aton|ntoa)|last_day|regexp_(?:like|replace|substr|instr)|to_base64|from_base64|sqlite_source_id|total_changes|likelihood|unlikely|random_bytes|master_pos_wait|xmlconcat|xmlforest|xmlelement|query_to_xml_and_xmlschema|txid_current|current_setting|set_config|pg_reload_conf|has_\w+_privilege)\s*\(|\bctxsys\.|\b(?:xp|sp)_(?:cmdshell|executesql|oacreate|makewebtask|dirtree|regread"
        r"|password)\b",
        "a function that attackers use to read files, run commands or provoke telling errors",
    ),
    _rule(
        "function-call",
        r"(?i)(?:^|[\s'\"(,=+|<>&\d)*/%-])(?:ascii|substr(?:ing)?|char|chr|nchar|unicode|concat(?:_ws)?|count"
        r"|database|current_user|session_user|system_user|schema|user|version|convert|cast|hex|bin|ord|mid|length"
        r"|len|instr|locate|position|rpad|lpad|elt|field|floor|rand|md5|sha1|if|isnull|iif|coalesce|greatest|least"
        r"|to_char|decode|nvl|replace|repeat|reverse|exp|std|sum|avg|max|min|quarter|curdate|sysdate|now|benchmark"
        r"|strcmp|trim|lower|upper|soundex|space|format)\s*\(",
        "a function call as in SQL",
        2,
    ),
    _rule(
        "built-string",
        r"(?i)\b(?:n?char|chr)\s*\(\s*(?:0x[0-9a-f]+|\d+)\s*(?:,\s*\d+|\)\s*(?:&|,)\s*(?:n?char|chr)\b"
        r"|\)\s*(?:\|\||=|\+))|(?:\|\||\+)\s*(?:n?char|chr)\s*\(\s*\d|(?:^|[^\w.])concat(?:_ws)?\s*\(\s*(?:0x|char|['\"(@]"
        r"|\w+\s*,)",
        "a string put together from numbers, to avoid quotes",
    ),
    _rule(
        "conditional",
        r"(?i)\bcase\b\s*(?:[\w('\"`]+\s*)?\bwhen\b[^\r]*[=<>('\"\d][^\r]*\bthen\b|\bif\s*\([^,]*(?:[=<>]|\blike\b)[^,]*,[^,]+,"
        r"|\belt\s*\([^,]*[=<>]|\biif\s*\([^,]+,|\bwhen\b[^\r]*[=<>('\"\d][^\r]*\bthen\b[^\r]+\belse\b[^\r]+\bend\b",
        "an expression that answers one way or the other, to read a database bit by bit",
        targets=EVERYTHING_SENT,
    ),
    _rule(
        "outfile",
        r"(?i)\binto[\s]+(?:outfile\s*(?:[^\w\s]|$)|dumpfile\b)|\bload\s+data\s+(?:local\s+)?infile\b|\bfrom\s+program\b"
        r"|\battach\s+database\b|\binto\s+@\w",
        "a query that writes or reads files",
        severity=Severity.CRITICAL,
    ),
    _rule(
        "order-by-number",
        r"""(?i)['")\d\-]\s*\)*\s*(?:order|group)\s+by\s+(?:\d+|\(|@|[a-z]+\()|\bgroup\s+by\s+\w+\s+having\b|\b(?:order|group)\s+by\s+\d+\s*(?:,"""
        r"""|--|#|/\*|;|desc\b|asc\b|$)|\bhaving\s+\d+\s*(?:[=<>]|--|#|like\b|and\b|or\b|$)|\blimit\s+\d+\s*(?:,\s*\d+\s*)?(?:offset\s+\d+\s*)?(?:--|#"""
        r"""|/\*|into|union|procedure|;)|\bprocedure\s+analyse\b""",
        "ORDER BY, HAVING or LIMIT with a number, to count the columns of a query",
    ),
    _rule(
        "data-change",
        r"(?i)\binsert\s+(?:ignore\s+|delayed\s+)?into\s+[\w`\"\[.]+\s*(?:\(|values|select)"
        r"|\bdelete\s+from\s+[\w`\"\[.]+(?:\s+where\b|\s*;|\s*--)|[;'\")]\s*delete\s+from\s+\w+\s*$"
        r"|\bupdate\s+[\w`\"\[.]+\s+set\s+[\w`\"\[.]+\s*=|\bon\s+duplicate\s+key\s+update\b"
        r"|\breturning\s+\w+\s+into\b",
        "a statement that changes rows",
    ),
    _rule(
        "schema-change",
        r"(?i)\b(?:drop|truncate)\s+"
        + _SCHEMA_OBJECT
        + r"\s+(?:if\s+exists\b|[`\"\[]|\w*[._]\w|[\w`\"\[.]+[\s)]*(?:;|--|#|/\*|'|\"|,|cascade\b)"
        r"|(?:admins?|accounts?|customers?|members?|news|orders|temp\w*|tests?|tmp\w*|users?)\s*(?:$|[)])|\w\s*$)"
        r"|\balter\s+(?:table|database|user|login|session|system)\s+\S+\s+(?:add|change|disable|drop|enable|identified|modify|owner|password"
        r"|rename|set|with|default|force|quota)\b|\balter\s+(?:session|system)\s+(?:advise|archive|check|close|dump|flush|kill|register|reset|resume|set|suspend|switch)\b"
        r"|\bcreate\s+(?:or\s+replace\s+)?(?:table|database|function|procedure|trigger|view|schema|login"
        r"|temporary)\s+(?:[\w`\"\[.]+\s*(?:\(|as\b|returns|returning)|[`\"\[]|\w*[._]\w)|[=/;'\")]\s*create\s+(?:table|database|view|schema)\s+\w+\s*$|\bcreate\s+user\s+\S+\s+identified\b"
        r"|\bgrant\s+(?:all|select|insert|execute|dba)\b[^\r]*\b(?:on|to)\b",
        "a statement that changes tables or accounts",
        severity=Severity.CRITICAL,
    ),
    _rule(
        "execute",
        r"(?i)\bexec(?:ute)?\b[\s(]+(?:immediate\s+['\"\w]+\s*(?:;|$|\|\|)|master\s*\.|[xs]p_|@|n?char\b|n?varchar\b"
        r"|['(])|\bdeclare\s+@\w+|\b(?:shutdown|backup\s+database)\s+(?:with\b|\w+\s+to\b|;)|"
        r"\bprepare\s+\w+\s+from\b|\bhandler\s+\w+\s+open\b|\bautonomous_transaction\b"
        r"|\bif\s*\(\s*\d+\s*[=<>]\s*\d+|\bend\s+if\b|\bdbcc\s+\w+",
        "a statement that runs text as a statement",
    ),
    _rule(
        "hex-string",
        r"(?i)(?:[=(,\s|+]|^)0x[0-9a-f]{6,}(?:[\s),;|+#\-]|$)|\bx'[0-9a-f]{4,}'|\bb'[01]{6,}'",
        "a string written in hexadecimal",
        2,
    ),
    _rule(
        "version-comment",
        r"(?i)/\*!\d*\s*\w|/\*\+\s*\w[^*+]*\*/|/\*!?\d*\*/\w|\w/\*[^*/]*\*/\s*(?:union|select|or|and|from|where|sleep|\()",
        "a comment that MySQL runs, or one that stands between words",
        severity=Severity.CRITICAL,
    ),
    _rule(
        "quoted-null",
        r"""(?i)(?:['")]|^[^`]*`)\s*is\s+(?:not\s+)?null|['"`)]\s*(?:between\s+(?:['"(]|\d+\s*(?:$|and\s+['"\d(]))|sounds\s+like\b|r?like\s+['"(%\d]"""
        r"""|regexp\s+['"(]|collate\s+\w|like\s*$|in\s*\(\s*['"\d]|procedure\s+analyse|union[\s(/*+]+(?:all\b|distinct\b|select(?:$|"""
        + NOT_QUOTED
        + r"""))|(?:offset|limit)\s+\d+\s*(?:,\s*\d|--|#|/\*|;|offset|into|union|procedure|$))""",
        "a quote that ends a string and goes on with a condition",
        targets=_BREAKS_OUT,
    ),
    _rule(
        "weak-sign",
        r"(?i)\bselect[\s(]+(?:distinct\s+|all\s+)?(?:user|version|database|password|login|sleep|benchmark)\b|\b(?:drop|truncate)\s+"
        + _SCHEMA_OBJECT
        + r"\s+\w"
        r"|\balter\s+(?:table|database|user|login)\s+\w|\bcreate\s+(?:or\s+replace\s+)?(?:table|database|function|procedure|trigger|view|schema|login|temporary)\s+\w"
        r"|\b(?:polygon|linestring|multi(?:point|linestring|polygon)|geometrycollection)\s*\(|\bnorthwind\b|\btempdb\b",
        "words that SQL shares with English and with file and product names",
        3,
    ),
    _rule(
        "broken-quote",
        r"""(?i)^(?:[\w\s.@\-]{0,40}["`]|(?:[\w\s.@\-]{0,39}[a-rt-z\d_\s.@\-]|[\w.@\-]{0,39}s)?')[)\s]*$|^[\w.\-]*['"]{2,}$""",
        "a value that ends in a lone quote, the first thing that is tried",
        2,
    ),
)
