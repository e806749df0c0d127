"""Code for interpreters other than a shell, a browser or SQL: PHP, templates, query and directory languages."""

from gatewall.engine.waf.builtin.rule import ALL_BUT_REFERER, EVERYTHING_SENT, VALUES, BuiltinRule
from gatewall.engine.waf.rules import Category, Severity, Target

_VALUES_FIRST = (*VALUES, Target.PATH, Target.HEADERS, Target.USER_AGENT, Target.REFERER)
_ALIASED = r":\s*\w+\s*(?:\([^()]*\)\s*)?\{[^{}]*\}"
"""A GraphQL field after its alias. It begins at the colon: a scan for words first costs ten times as much."""


def _rule(
    key: str, pattern: str, reason: str, targets: tuple[Target, ...] = EVERYTHING_SENT, score: int = 5
) -> BuiltinRule:
    return BuiltinRule(f"injection-{key}", pattern, Category.INJECTION, Severity.CRITICAL, targets, reason, score)


_NOT_FROM_THE_ROOT = r"^(?:[^/(].*)?"
"""A value that begins with ``/`` is a whole expression, as users of scrapers write, and breaks out of none."""

INJECTION_RULES = (
    _rule(
        "jndi-lookup",
        r"(?i)\$\{[^}\s'\"<>\x80-\xff]*j[^}\s'\"<>\x80-\xff]*n[^}\s'\"<>\x80-\xff]*d[^}\s'\"<>\x80-\xff]*i[^}\s'\"<>\x80-\xff]*:|\$\{\s*(?:(?:lower|upper|env|sys|java|ctx|base64|hostname|k8s"
        r"|docker|bundle|marker|map|sd|event|web|spring):|::?-)|\bjndi\s*:\s*(?:ldaps?|rmi|dns|iiop|corba|nds|nis"
        r"|https?)\s*:",
        "a Log4j look-up (CVE-2021-44228)",
    ),
    _rule(
        "php-code",
        r"(?i)<\?(?:php\b|=|\s|$)|<\?[a-z]+\s*\(|\[/?php\]|\b(?:allow_url_(?:include|fopen)|auto_(?:prepend"
        r"|append)_file|disable_functions|open_basedir|safe_mode|suhosin\.\w+|display_errors|magic_quotes_\w+"
        r"|session\.\w+_path|upload_tmp_dir|allow_webdav_methods|asp_tags|assert\.\w+|browscap|default_charset"
        r"|doc_root|enable_dl|error_(?:append|prepend)_string|expose_php|file_uploads|highlight\.\w+|html_errors"
        r"|ignore_user_abort|implicit_flush|input_encoding|mbstring\.\w+|mcrypt\.\w+|opcache\.\w+|pcre\.\w+"
        r"|phar\.\w+|realpath_cache_\w+|request_order|soap\.\w+|sys_temp_dir|upload_max_filesize"
        r"|user_ini\.\w+|variables_order|xbithack|xmlrpc_errors|zlib\.\w+|short_open_tag|cgi\.force_redirect"
        r"|extension_dir)\s*=",
        "PHP code, or a PHP setting",
    ),
    _rule(
        "php-wrapper",
        r"(?i)\b(?:php|phar|zip|zlib|bzip2|glob|expect|ogg|rar|ssh2(?:\.\w+)?|compress\.\w+|convert\.\w+)://"
        r"|\bdata:(?://)?text/plain\s*[;,]|\bconvert\.(?:base64"
        r"|iconv|quoted)",
        "a PHP wrapper that reads or runs what was sent",
    ),
    _rule(
        "php-function",
        r"(?i)\b(?:assert|array_(?:map|filter|walk|diff_u\w+|reduce|udiff)|base64_decode|bzopen|call_user_func\w*"
        r"|chmod|chr|convert_uudecode|create_function|curl_(?:exec|init)|dl|error_log|escapeshell(?:arg|cmd)|eval"
        r"|exec|extract|fgets|file|file_(?:get|put)_contents|fopen|fpassthru|fputs|fread|fsockopen|func_get_args?"
        r"|fwrite|get_(?:cfg_var|current_user|defined_\w+)|getenv|gethostbyname|getmyuid|glob|gzinflate|gz(?:decode"
        r"|open|read|uncompress)|highlight_file|hex2bin|include(?:_once)?|ini_(?:get|set|alter)|is_(?:file|dir"
        r"|readable|writable)|mail|mb_ereg_replace|md5_file|mkdir|move_uploaded_file|opendir|ob_start|pack"
        r"|parse_(?:ini_file|str)|passthru|pcntl_exec|php_(?:uname|ini\w*|sapi_name)|phpinfo|phpversion|phpcredits"
        r"|popen|posix_\w+|preg_replace\w*|print_r|printf|proc_open|putenv|readdir|readfile|readlink"
        r"|register_(?:shutdown|tick)_function|require(?:_once)?|rmdir|rename|scandir|session_\w+|set_(?:error"
        r"|exception)_handler|shell_exec|show_source|simplexml_load_\w+|sprintf|str_rot13|strrev|stream_\w+|symlink"
        r"|system|tempnam|tmpfile|touch|uasort|uksort|unlink|unserialize|usort|var_dump|virtual"
        r"|xml_\w+)(?:\s*(?:/\*[^*]*\*/\s*)*\([\s'\"$(]*(?:['\"$]|\w+\s*\(|\)\s*;|\d+\)\s*;|-1\)|\)\s*$)"
        r"|\(\w+['\"]?\s*\))",
        "a call of a PHP function that runs or reads something",
    ),
    _rule(
        "php-named-call",
        r"(?i)(?:call_user_func(?:_array)?|create_function|p?fsockopen|f(?:open|read|write|puts|gets|scanf)|gzinflate|gzuncompress|gzdecode|base64_decode"
        r"|shell_exec|proc_(?:open|close|nice|terminate)|pcntl_exec|posix_(?:getpwuid|kill|mkfifo|setuid|uname)"
        r"|phpinfo|php_uname|phpversion|phpcredits|get_current_user|getmypid|disk_free_space|bzdecompress"
        r"|curl_(?:exec|init|setopt|file_create)|ftp_(?:connect|get|put)|imagecreatefrom\w+|iptcembed|lcg_value"
        r"|link_?info|mb_(?:ereg|parse_str|send_mail)\w*|ob_(?:get_clean|start|clean|end_flush)|openlog"
        r"|parse_str|preg_(?:match|quote|split|replace)\w*|pg_(?:query|connect|lo_\w+)|mysql_(?:query|connect)"
        r"|odbc_\w+|rawurldecode|session_(?:start|destroy|regenerate_id)|stream_(?:context|socket|get|copy"
        r"|filter)_\w+|str_(?:ireplace|replace|split)|stripcslashes|stripslashes|sys_get_temp_dir|token_get_all"
        r"|zend_version|zip_(?:open|read)|array_(?:flip|rand|pop|intersect_\w+|walk_recursive)|passthru|file_(?:get"
        r"|put)_contents|move_uploaded_file|array_(?:map|filter|walk|udiff)|is_(?:array|file"
        r"|dir|callable|readable|writable)|func_get_args|get_defined_(?:vars|functions)|register_shutdown_function"
        r"|convert_uudecode|str_rot13|unserialize|var_dump|escapeshellcmd|ini_set|highlight_file|show_source"
        r"|parse_ini_file|simplexml_load_\w+|readfile|array_diff_ukey)\s*\(|\b(?:exec|system|popen|assert"
        r"|eval)\s*(?:(?://|#)[^\r]*\r\s*)+\(|['\"\[(](?:\s*)(?:system|exec|passthru|shell_exec|popen"
        r"|assert|phpinfo|eval)(?:\s*)['\"\])]+(?:\s*[\[{(]\s*(?:/\*[^*]*\*/)?\s*\d*\s*[\]})]|\s*[\])}])*\s*\("
        r"|\bunpack\s*\(",
        "a function that PHP alone has",
    ),
    _rule(
        "php-variable-call",
        r"(?i)(?:^|[^\d])\$\s*(?:[a-z_]\w*|\{[^}]*\})(?:\s*\{[^}]*\})*\s*\((?:[^)]*['\"$@][^)]*\)|[^)]*\)\s*(?:;|\(|$))|\$\s*(?:[a-z_]\w*|\{[^}]*\})(?:->\w+|\s*\[[^\]]*\]|\s*\{[^}]*\})+\s*\([^)]*\)|\$\s*\{\s*['\"@$]"
        r"|\w::\$\w+\s*\(|['\"]\s*\.\s*['\"]\w*['\"]\s*\)+\s*\(|\b(?:memory_limit|post_max_size|max_execution_time|error_reporting|session\.auto_start"
        r"|include_path|default_mimetype|output_handler|zend\.\w+|sendmail_path|mail\.\w+|log_errors)\s*=",
        "a function whose name is in a variable of PHP",
    ),
    _rule(
        "upload-name",
        r"(?i)^x[-_.]?file[-_.]?name\s*:\s*[^\r]*(?:\.\s*(?:php\d*|phtml?|phar|phps|pht|jspx?|jspf|jsw|jsv|aspx?"
        r"|ashx|asmx|cer|asa|cfm|exe|sh|pl|py|cgi|htaccess|war)[.\s]*$|[/\\\s:](?:sess_[\w,\-]{5}|mtrr\b|wp-config"
        r"|settings\s*\.\s*php|config\s*\.\s*(?:ya?ml|php|inc)|\.ht|\.user\.ini|web\.config|environ|passwd|shadow))"
        r"|filename\*?\s*=\s*['\"]?[^'\";\r]*\.\s*(?:php\d*|phtml?|phar|phps|pht|jspx?|jspf|aspx?|ashx|asmx|cer|asa"
        r"|cfm|cgi|htaccess|user\.ini|war)[.\s]*(?:['\";\r]|$)|\.(?:php\d*|phtml|phar|jspx?|aspx?)\.(?:jpe?g|png|gif"
        r"|pdf|docx?)$",
        "the name of an uploaded file that a server would run",
        targets=(*VALUES, Target.PATH, Target.HEADERS),
    ),
    _rule(
        "php-variable",
        r"(?i)\$\s*\{?_(?:get|post|request|server|cookies?|files|session|env)\b|\$GLOBALS\b|\$HTTP_(?:RAW_POST_DATA"
        r"|(?:GET|POST|COOKIE|SERVER|ENV)_VARS)|\bphp_?self\b|\$this->|\$\{\s*['\"]?_[^_]|\$\w+\s*\(\s*\$\w+"
        r"|\$\$\w+\s*=|\$\$\w+\s*[(\[]\s*['\"$\])]|\$[a-z_]\w*\s*=\s*(?:['\"\[$@]|new\s|\w+\s*\()|\bGLOBALS\[|\b_CONF\[path\]|\bGALLERY_BASEDIR\b|\bappserv_root\b|\b(?:path\[docroot|config\[root_dir)\]|^__construct$|\[['\"]?#(?:access_callback|after_build|element_validate|lazy_builder|post_render|pre_render|process|submit|validate|value_callback)['\"]?\]|\\think\\(?:app|request|container|template)\b|\binvokefunction\b|\b_(?:GET|POST"
        r"|REQUEST|SERVER|SESSION|COOKIE)\[",
        "a variable of PHP",
    ),
    _rule(
        "php-object",
        r"(?i)(?:^|[;{}\s\"'=|:])[oc]:\+?\d+:\"[\w\\]+\":\+?\d+:\{|\ba:\d+:\{(?:i|s):\d+|(?:^"
        r"|[;{])s:\d+:\"[^\"]*\";(?:s|i|a|o|b):|\bO:\d+:",
        "a serialized object of PHP",
    ),
    _rule(
        "java-class",
        r"(?i)\bjavax?\s*\.\s*(?:nio|beans|naming|script|sql|rmi|security|management|xml)\s*\.\s*\w"
        r"|\bjavax?\s*\.\s*lang\s*\.\s*(?:(?:class(?:loader|value)|compiler|processbuilder|processimpl|reflect|runtime|shutdown"
        r"|unixprocess)\b|(?:class|integer|math|number|object|process|string|stringbuffer|stringbuilder|system|thread|threadgroup)"
        r"\s*(?:$|[^.\s\w]|\.\s*\w+\s*[(\[]|\.\s*class\b))"
        r"|\bjavax?\s*\.\s*io\s*\.\s*(?:file|filepermission|filedescriptor|objectinput|\w*(?:stream|reader|writer))\b"
        r"|\bjavax?\s*\.\s*util\s*\.\s*(?:base64|hashmap|hashset|jar|logging|priorityqueue|properties|prefs|resourcebundle|scanner|zip)\b"
        r"|\bjavax?\s*\.\s*net\s*\.\s*(?:\w*socket|url|uri|urlclassloader|urlconnection|inetaddress)\b"
        r"|\bjava\.runtime\b|\b(?:processbuilder|getruntime|getmethod|getclass|getdeclared\w+|invoke|newinstance"
        r"|forname|scriptenginemanager|classloader|unmarshaller|base64data|methodclosure|lazymap"
        r"|templatesimpl|hashmap|annotationinvocationhandler|beanfactory|jdbcrowsetimpl"
        r"|bytearrayoutputstream|fileoutputstream|printwriter|runtime\.exec)\s*(?:[(.\[:\"']|$)"
        r"|\b(?:org\.(?:apache\.(?:commons|struts2?|xbean|tomcat|catalina|log4j|velocity)|springframework\.(?:aop|beans|context|core|expression|jndi|util)|codehaus"
        r"|jboss|hibernate|mozilla|omg|python)|com\.(?:sun|opensymphony|mchange|ibm|bea|caucho|alibaba|zaxxer)"
        r"|sun\.(?:misc|reflect|net)|ch\.qos\.logback\.core\.(?:db|jndi))\.\w|\bjdbc:h2:[^\r]*;\s*init\s*=|\bfreemarker\.template|\b(?:clone|instantiate|invoker|chained|constant"
        r"|switch|predicate)transformer\b|\b(?:for|while|transformer|switch|chained)closure\b|\b(?:instantiate"
        r"|prototypeclone|prototypeserialization|reflection)factory\b|\b(?:xmldecoder|filewriter|getproperty"
        r"|objectinputstream|groovyshell|elprocessor|nashorn|unicastref|annotatedbeans|cglib|beancomparator"
        r"|badattributevalueexpexception)\b\s*(?:[(.\[:\"]|$)|\bclass\s*(?:\.|\[\s*['\"]?)\s*(?:module|classloader"
        r"|forname|getclassloader|protectiondomain)\b",
        "a class of Java that runs commands or loads code",
    ),
    _rule(
        "java-expression",
        r"(?i)[%$#@*](?:\\+[a-z])?\{[^}]*(?:[(\[]|\.\s*(?:class|getclass|runtime|application\w*|environment|memberaccess|session|request)\b|@\w|#\w|\d\s*[*+/-]\s*\d|\bnew\s)|#_?\w*(?:memberaccess|context)\s*[=\[.]"
        r"|#_?\w*(?:request|session|parameters|application|root)\s*(?:[\[.]|=\s*[@#(])|#(?:cmd|a|b|p)\s*(?:=\s*(?:[@#('\"]"
        r"|new\s|[\w.]+\()|\.\w+\()|\bT\(\s*[\w.]+\s*\)|@[\w.]+@\w+|\bxwork\."
        r"|\bmethodaccessor\.deny|\ballowstaticmethodaccess\b|\bredirect(?:action)?:\s*[$%#]|(?:^|[?&;])action:\s*[%$#]"
        r"|\bognl\b|\(#\w+\s*=",
        "an expression of OGNL, SpEL or EL",
    ),
    _rule(
        "java-object",
        r"(?i)\xac\xed\x00\x05|\brO0AB|\bKztAAU|\bCs7QAF|\baced0005|<java\b|<(?:void|object)\s+(?:class|method)\s*="
        r"|\bjava/lang/(?:class|object|process|reflect|runtime|string|system)\b|@type['\"]?\s*:\s*['\"]|^\x00\x01\x00\x00\x00\xff\xff\xff\xff\x01|^\x80[\x02-\x05].{0,64}(?:posix|\bnt\b|builtins|subprocess).{0,16}(?:system|Popen|eval|exec|call)|\bc(?:os|posix|nt|subprocess|builtins|__builtin__)\r+(?:system|p?open|eval|exec|call)\b|!ruby/(?:object|hash):(?:action|active|erb|gem|net|openstruct|sprockets)|\bBAhvOh|\bAAEAAAD/////|\bH4sIAAAAA",
        "a serialized object of Java, .NET, Python or Ruby",
    ),
    _rule(
        "template",
        r"(?i)\{\{[^}]*(?:\d\s*[*+/%-]\s*['\"]?\d|\|\s*(?:attr|map|filter|sort|join|format|safe|e|system|passthru|exec)\b|\[\s*['\"]?_|\bconfig\b|\bself\b"
        r"|\brequest\b|__|\bconstructor\b|\brange\b|\blipsum\b|\bcycler\b|\bjoiner\b|\bnamespace\b|\bget_flashed|\burl_for\b|\bdump\s*\(|\bapp\.|\b_self\b"
        r"|\.(?:class|getclass|forname|exec|system|popen|read|sub)\b|['\"]\s*\.|\]\s*\.|\bphp\b|\bsettings\.|\bprocess\b|\brequire\b|#with)\s*[^}]*\}\}|\{%[^%]*(?:\b(?:for|if|set)\b[^%]*(?:[(\[|*~]|__)|\bimport\b|\binclude\b|\bdebug\b|\bprint\b"
        r"|\bextends\b|\d\s*\*)[^%]*%\}|<%[=@!%]?\s*[^%]*(?:\d\s*\*\s*\d|\(|`|request|response|system|%>)"
        r"|<#(?:assign|list|include|import|function|macro|if)\b|\[#(?:assign|if)\b|\$\{[^}]*\d\s*[*+%/-]\s*\d[^}]*\}"
        r"|#\{[^}]*(?:\d\s*\*\s*\d|`|\(|system|exec)[^}]*\}|#(?:set|foreach|evaluate|include|parse)\s*\(|\{/?php\}"
        r"|\{/?literal\}|\{\$smarty\.|\{system\(|@\{?\(\s*\d|\{\{=|\[\[\$\{|__\$\{",
        "an expression of a template language",
        targets=_VALUES_FIRST,
    ),
    _rule(
        "python-object",
        r"(?i)__(?:class|mro|base|bases|subclasses|globals|builtins|getattribute|reduce)__|__import__\s*\("
        r"|[\w)\]'\"]\s*(?:\.|\[\s*['\"]?)__(?:import|init|dict|code|getitem|loader|doc|self|call|name|file|spec)__|\b(?:func_globals|gi_frame|f_globals|cr_frame|tb_frame"
        r"|request\.application|cycler\.__|joiner\.__|get_flashed_messages|url_for\.__)\b|\['__|\|\s*attr\s*\(",
        "the way from a Python object to everything else",
        targets=_VALUES_FIRST,
    ),
    _rule(
        "node-code",
        r"(?i)_\$\$ND_FUNC\$\$_|\brequire\s*\(\s*['\"`]|\bprocess\s*(?:\.)\s*['\"`]?(?:binding|mainmodule|env\b"
        r"|exit|dlopen|_load|kill|cwd|version)|\bmodule\.exports\b|\bchild_process\b|\bglobal\s*\.\s*process\b"
        r"|\bmainmodule\b|\bfs\.(?:read|write|unlink|exists|create)\w*|\bspawnsync\b|\bexecsync\b"
        r"|\bbuffer\.from\s*\(|\bnew\s+function\s*\(|\bfunction\s*\(\s*\)\s*\{|\b(?:res|response)\.(?:end|write"
        r"|send)\s*\(|\bwhile\s*\(\s*(?:[-+!]*\s*(?:\d|true|infinity|nan|undefined|null|''|\"\")|new\s|this|string"
        r"|\[\]|\{\})[^)]*\)|\bconsole\s*(?:\.|\[)\s*['\"]?(?:log|info|debug|error|warn|trace)['\"]?\s*\]?\s*\("
        r"|\b(?:process|require)\s*\[|\[\s*(?:constructor)\s*\]\s*\[|\bconstructor\s*\[?\.?['\"]?prototype"
        r"|__proto__|\bthis\.constructor\b|\beval\s*\(\s*(?:require|process|global|this|atob|buffer|string)",
        "JavaScript for a server",
        targets=_VALUES_FIRST,
    ),
    _rule(
        "nosql",
        r"(?i)\[\s*\$(?:ne|eq|gte?|lte?|n?in|not|n?or|and|exists|regex|where|type|mod|all|size|elemmatch|options"
        r"|expr|text|slice)\s*\]|['\"{,\s]\$(?:ne|eq|gte?|lte?|n?in|not|n?or|and|exists|regex|where|elemmatch|expr"
        r"|function|accumulator|lookup|merge|mod|size|type)['\"]?\s*:|\bthis\.\w+\s*(?:[=!]=|\.match|\[)"
        r"|\bdb\.\w+\.(?:find|insert|drop|remove|update|count|aggregate|save)|\bmapreduce['\"]?\s*[:(]|\bobjectid\s*\("
        r"|\b(?:tojson|sleep|hex_md5)\s*\(\s*(?:this|db|\d+\s*(?:\)|$))|'\s*\|\|\s*'?\d?'?\s*==|;\s*return\s*(?:\(|true|this|'"
        r"|\d)|['\"{]\s*return\s+true\b|\breturn\s+true\s*[;}'\"/]|'\s*;\s*(?:sleep|while|var|return|db)\b",
        "an operator of a document database",
        targets=ALL_BUT_REFERER,
    ),
    _rule(
        "ldap",
        r"(?i)\(\s*[&|!]\s*\(\s*[\w\-.;]+\s*[~<>:]?=|\*\s*\)\s*\(\s*(?:\w+\s*[~<>]?=|\()|\)\s*\(\s*(?:"
        r"[\w\-]+\s*[~<>]?=\s*\*)|^\s*\*\s*\)+|\*\)\)%00|\)\s*\(\s*[|&!]|\)\s*[|&]\s*\(\w+\s*=|\(\w+=\*\)|^[\w ]*\)\s*\(\w+\s*[~<>]=\s*\w"
        r"|\b(?:objectclass|samaccountname|userpassword|memberof)\s*=",
        "a filter of a directory",
        targets=ALL_BUT_REFERER,
    ),
    _rule(
        "xml-entity",
        r"(?i)<!(?:doctype)\b[^>]*(?:\bsystem\b|\bpublic\b|\[|%)|<!entity\b|\bxi:include\b|\bxinclude\b|<xsl:"
        r"|\bxmlns:\w+\s*=|%\w+;\s*\]|<soap\w*:|&xxe;|<\?xml\b",
        "an XML document that reads a file or URL",
    ),
    _rule(
        "xpath",
        r"(?i)['\"]\s*\]\s*\||['\"]\s*(?:\bor\s|\band\s|\|)\s*(?:count|name|string-length|substring|position|contains|starts-with"
        r"|local-name|boolean|not)?\s*\(?\s*(?:/|\.\./|\*|@|child::|parent::|ancestor::|node\(\)|text\(\))"
        r"|\b(?:child|parent|ancestor|descendant|following|preceding|self|attribute)(?:-sibling)?::"
        r"|\]\s*\|\s*/+\w*\[?|\bstring-length\s*\(|\bdoc\s*\(\s*concat|\bcount\s*\(\s*/|"
        + _NOT_FROM_THE_ROOT
        + r"(?:['\"]\s*\]\s*/(?:\.\.|\*|@)|/(?:text|node|comment)\(\))",
        "an expression of XPath",
        targets=ALL_BUT_REFERER,
    ),
    _rule(
        "ssi",
        r"(?i)<!--\s*#\s*(?:exec|include|echo|config|printenv|set|fsize|flastmod|if)\b|<esi:|<!--\s*esi\b",
        "a directive that the server runs in a page",
    ),
    _rule(
        "weak-sign",
        r"(?i)\{\{[^}]*[|._][^}]*\}\}|\{%[^%]*\b(?:for|if|set)\b[^%]*%\}|\breturn\s+true\b|\bjavax?\s*\.\s*(?:lang|io|util|net)\s*\.\s*\w|\borg\.springframework\.\w|^action:\w"
        r"|\bjava/lang/|\$\s*[a-z_]\w*\s*\([^)]*\)|\$\$\w+\s*[(\[]",
        "the name of a class, an expression or a word of a programming language",
        targets=ALL_BUT_REFERER,
        score=3,
    ),
    _rule(
        "graphql-flood",
        r"(?:\{[^{}]*){20}|(?:" + _ALIASED + r"[\s,]*\w+\s*){19}" + _ALIASED + r"|(?:\w+\s*:\s*__typename[\s,]+){20}",
        "a GraphQL query of too many levels or aliases",
        targets=(Target.BODY, Target.ARGS),
    ),
    _rule(
        "graphql-introspection",
        r"\b__schema\b\s*\{|\b__type\s*\(\s*name\b",
        "a GraphQL query for the schema; set the score to 5 to refuse it",
        targets=(Target.BODY, Target.ARGS),
        score=2,
    ),
    _rule(
        "mail",
        r"(?i)[\r]\s*(?:(?:b?cc|to|from|subject|reply-to|content-type|mime-version|x-mailer)\s*:|(?:mail\s+from"
        r"|rcpt\s+to|data|quit|helo|ehlo|rset|vrfy|expn|noop)\b|\w+\s+(?:capability|login|select|fetch|examine"
        r"|search|list|logout|noop|authenticate|append|create|delete|rename|status|store|uid|copy)\b|(?:user|pass"
        r"|stat|retr|dele|top|uidl|auth|stls|capa)\s)",
        "a line for a mail server",
        targets=ALL_BUT_REFERER,
    ),
)
