"""Server-side request forgery (SSRF), scanners, and protocol attacks."""

from gatewall.engine.model import Action
from gatewall.engine.waf.builtin.rule import ALL_BUT_REFERER, EVERYTHING_SENT, PATH_AND_ARGUMENTS, BuiltinRule
from gatewall.engine.waf.rules import Category, Severity, Target

_SERVICE_PORT = r"(?::(?:\d{1,4}|[12]\d{4}|3[01]\d{3})\b|[/?#\s'\"]|$)"
"""No port, or one below 32000: native apps have callbacks on ports from 32768, which the system assigns (RFC 8252)."""
_PUBLIC = (
    r"(?:\d|1[1-9]|[2-9]\d|1[013-68]\d|12[0-689]|17[013-9]|19[013-9]|2\d\d|172\.(?:\d|1[0-5]|3[2-9]|[4-9]\d|\d{3})"
    r"|192\.(?:\d\d?|1[0-57-9]\d|16[0-79]|2\d\d))"
)
"""Beginning of an address that is neither private nor loopback."""

OTHER_RULES = (
    BuiltinRule(
        "ssrf-metadata-service",
        r"(?i)\b169\.254\.169\.254\b|\bmetadata\.(?:google\.internal|packet\.net|platformequinix\.com)\b|\b100\.100\.100\.200\b|\[?fd00:ec2::254"
        r"|\b192\.0\.0\.192\b|\b2852039166\b|\b0xa9fea9fe\b|\b169\.254\.170\.2\b|\blatest/(?:meta-data|user-data"
        r"|dynamic)\b|\bcomputemetadata/v1\b|\bmetadata/instance\b|\bopc/v[12]/|\b0251\.0376\.|\b(?:rancher-metadata"
        r"|kubernetes\.default\.svc)\b",
        Category.SSRF,
        Severity.CRITICAL,
        EVERYTHING_SENT,
        "the address of a cloud's metadata service",
    ),
    BuiltinRule(
        "ssrf-scheme",
        r"(?i)(?:^|[\s'\"=(:@])(?:gopher|dict|ldaps?|ldapi|tftp|sftp|netdoc|jar|jndi|rmi|imaps?|pop3s?|smtps?|telnet"
        r"|nfs|smb|svn(?:\+ssh)?|unc|mailto:\S+\?\w+=|afp|finger|rtsp|redis|mssql|mysql|postgres(?:ql)?|oracle"
        r"|memcached|ssh2?|turn|stun|bzr|cvs|magnet|view-source|glob|local_file):(?://|\w+:)"
        r"|^[\w.\-]*@[\w.\-]+/(?:mapi|powershell|ews|ecp)\b",
        Category.SSRF,
        Severity.HIGH,
        ALL_BUT_REFERER,
        "a URL of a scheme that makes a server speak to another service",
    ),
    BuiltinRule(
        "ssrf-local-address",
        r"(?i)\b(?:https?|ftp)\s*:\s*[/\\]{1,4}(?:[^/?#@]*@)?(?:0\.0\.0\.0|0x[0-9a-f]{2,8}\b|0\d+\.|\d{8,10}\b|\[::ffff:"
        r"|\[(?:0:)+|169\.254\.|127\.1\b|0/|[\w.\-]*\.(?:nip|sslip|xip)\.io|[\w.\-]*\.(?:localdomain"
        r"|burpcollaborator\.net|oastify\.com|oast\.\w+|interact\.sh|dnslog\.cn|ceye\.io|requestbin\.net"
        r"|webhook\.site|ngrok(?:-free)?\.(?:io|app|dev)|localtest\.me|lvh\.me|vcap\.me)|(?:127\.\d{1,3}\.\d{1,3}\.\d{1,3}"
        r"|localhost|\[::1?\])" + _SERVICE_PORT + r")|(?:^|//|@)(?:ip6-(?:localhost|loopback)|ipv6-localhost"
        r"|host\.(?:docker|containers)\.internal|(?:kubernetes|gateway)\.docker\.internal|localhost\.localdomain|localhost[46](?:\.localdomain[46])?|localtest\.me|lvh\.me|0\.0\.0\.0)(?:[:/]|$)"
        r"|(?:^|//|@)(?:localhost|\[::1?\])(?::(?:\d{1,4}|[12]\d{4}|3[01]\d{3})\b|/|$)",
        Category.SSRF,
        Severity.MEDIUM,
        (Target.ARGS, Target.BODY, Target.COOKIES),
        "a URL of this machine itself, or of a service that notes who calls",
    ),
    BuiltinRule(
        "ssrf-private-address",
        r"(?i)\b(?:https?|ftp)\s*:\s*[/\\]{1,4}(?:[^/?#@]*@)?(?:10\.\d+\.\d+\.\d+|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\."
        r"|[\w.\-]*\.(?:internal|local)\b)",
        Category.SSRF,
        Severity.LOW,
        (Target.ARGS, Target.BODY, Target.COOKIES),
        "a URL of a private network, which links to sites at home have, too",
        3,
    ),
    BuiltinRule(
        "ssrf-remote-file",
        r"(?i)^(?:https?|ftps?)://" + _PUBLIC + r"(?:\.\d{1,3}){2,3}(?:[:/]|$)|^(?:https?|ftps?)://[^?\s]*\?{1,2}$"
        r"|^(?:https?|ftps?)\?$|^(?:https?|ftps?)://[^\s?]*(?:\.(?:txt|php\d?|phtml|inc|sh|pl|py|jsp|aspx?|cgi|dat"
        r"|gif|jpe?g)\?+$|\.(?:sh|pl|inc|phtml|elf|exe|dll|ps1|bat)$)|^(?:file|ftp|sftp|smb)://|^\\\\\w+[\\.]"
        r"|^https?://\[?(?:[0-9a-f]{1,4}:){2,}",
        Category.SSRF,
        Severity.HIGH,
        (Target.ARGS, Target.BODY),
        "a remote file as an argument, to be included and run",
    ),
    BuiltinRule(
        "scanner-user-agent",
        r"(?i)\b(?:sqlmap|nikto|nessus|acunetix|netsparker|invicti|dirbuster|dirb|gobuster|feroxbuster|ffuf|wfuzz"
        r"|wpscan|joomscan|droopescan|nuclei|masscan|zgrab|zmap|nmap|havij|openvas|w3af|arachni|skipfish|whatweb"
        r"|wapiti|paros|webinspect|appscan|qualys|burp(?:suite|collaborator)?|jaeles|dalfox|xsser|commix|fimap"
        r"|bsqlbf|sqlninja|sqlpowerinjector|absinthe|brutus|hydra|medusa|metis|morfeus|muieblackcat|n-stealth"
        r"|jbrofuzz|grabber|grendel-scan|dominator|cgichk|blackwidow|bilbo|datacha0s|dotbot|fhscan|jorgee|libwhisker"
        r"|mysqloit|netlab360|pangolin|pmafind|prog\.customcrawler|rapid7|s\.t\.a\.l\.k\.e\.r|springenwerk|sysscan"
        r"|t(?:he)?mole|toata|uil2pn|vega/|voideye|webbandit|webshag|websurgery|webtrends\s+security|whatsweb|whcc"
        r"|zap|zaproxy|zmeu|crimscanner|detectify|intruder|tsunami|masspwn|xray|yakit|fuzz\s+faster|hello,?\s*world"
        r"|shodan|censysinspect|internetmeasurement|leakix|projectdiscovery|interactsh|gotestwaf|wafw00f|ghauri"
        r"|tplmap|nosqlmap|kadimus|lfisuite|katana|subfinder|amass|aquatone|eyewitness|dirsearch|cmsmap|vulscan"
        r"|retire\.js|sitelockspider|struts-pwn|jndiexploit|log4j-scan|bbqsql|revolt|safexsecurity|attack)(?:[^a-z]"
        r"|$)",
        Category.SCANNER,
        Severity.MEDIUM,
        (Target.USER_AGENT,),
        "a vulnerability scanner that names itself",
    ),
    BuiltinRule(
        "scanner-secret-file",
        r"(?i)/\.(?:git(?:/|$)|svn(?:/|$)|hg(?:/|$)|env$|env[._\-](?:local|prod\w*|dev\w*|stag\w*|test\w*|live|backup|bak|old"
        r"|orig|save|sw[op]|php|txt|json|ya?ml|\d+)(?:\.\w+)?$|aws/|ssh/|ht(?:passwd|access)|bash_history|kube/)"
        r"|^/\.(?:ds_store|vscode/|idea/|docker|npmrc|config/|env)|/(?:wp-config|config\.inc|phpinfo|adminer|phpmyadmin|pma|c99|r57"
        r"|webshell|eval-stdin|wso|alfa|b374k|backdoor)\.(?:php|asp|aspx|jsp|txt|bak)(?:$|/|\.|~)"
        r"|^/(?:configuration|localsettings|info|shell|cmd)\.(?:php|asp|aspx|jsp|txt|bak)(?:$|/|\.|~)"
        r"|/(?:server-status|actuator/(?:env"
        r"|heapdump|gateway|jolokia|mappings|trace|configprops|logfile)|jolokia/"
        r"|invoker/jmx|jmx-console|web-console|_ignition/|telescope/requests|hnap1|boaform|gponform|setup\.cgi|cgi-bin/(?:luci|nobody|\.|%"
        r"|test-cgi|php|bash|sh|status|env)|vendor/phpunit|_profiler/|debug/default|elmah\.axd|trace\.axd"
        r"|\.well-known/acme-challenge/\.\.|portal/redlion"
        r"|owa/auth/x\.js|remote/fgt_lang|tmui/login|mgmt/tm/|wls-wsat"
        r"|_async/asyncresponse|bea_wls|ws_utc|uddiexplorer|axis2/)|^/minio/bootstrap/",
        Category.SCANNER,
        Severity.MEDIUM,
        (Target.PATH,),
        "a file or page that is never linked and that scanners ask for",
    ),
    BuiltinRule(
        "scanner-product-path",
        r"(?i)^/(?:server-info|druid/index|solr/admin|console/(?:css|login|images)|manager/(?:html|text|status)|host-manager"
        r"|_all_dbs|_cat/|api/v1/(?:pods|namespaces)$|nifi-api|cacti/|nagios/|zabbix/jsrpc)",
        Category.SCANNER,
        Severity.LOW,
        (Target.PATH,),
        "the path of a product that scanners look for, and that its users need",
        3,
    ),
    BuiltinRule(
        "protocol-header-injection",
        r"(?i)[\r]\s*(?:set-cookie|location|content-(?:type|length|disposition|security-policy|encoding)"
        r"|transfer-encoding|link|x-[a-z\-]+|access-control-[a-z\-]+|cache-control"
        r"|connection)\s*:|(?:\xe5\x98[\x8a\x8d]){1,2}(?:set-cookie|location|content-)|[\r]\s*http/\d|[\r]\s*status\s*:\s*\d|\bhttp/[01]\.[019]\s*[\r]|[\r]\s*(?:get|post|head|put|options|delete|trace"
        r"|connect|patch)\s+[/h*]\S*\s+http/|[\r]\s*<(?:html|script|body|head|svg|img|h1|iframe|[?!])|[\r]\s*(?:(?:x-)?(?:forwarded-(?:for|host|server)|host|via"
        r"|remote-ip|remote-addr|originating-ip)|refresh|cookie)\s*:|\b(?:get|post|head|put|options|delete|trace"
        r"|connect|patch)\s+\S+\s+http/\d|^content-type: [^;]*;[^\r]*\b(?:boundary"
        r"|charset)\s*=\s*['\"]?(?:application|text|multipart)/|^(?:request-range|proxy|x-middleware-subrequest)\s*:|^content-disposition: form-data; name=['\"]?[^'\";\r]*\\\w",
        Category.PROTOCOL,
        Severity.HIGH,
        (*PATH_AND_ARGUMENTS, Target.COOKIES, Target.HEADERS),
        "a line break followed by a header, to split a response",
    ),
    BuiltinRule(
        "protocol-line-break",
        r"(?i)%(?:0d|0a)(?:%20|%09|\s)*(?:(?:set-cookie|location|content-[a-z\-]+)(?:%20|\s)*(?::|%3a)|http/)|%(?:e5%98%8d%e5%98%8a)"
        r"|%u0?0?0d%u0?0?0a|%25250a|%250d%250a",
        Category.PROTOCOL,
        Severity.HIGH,
        (Target.URI,),
        "a line break in an encoding that only an attacker uses",
    ),
    BuiltinRule(
        "protocol-line-break-in-name",
        r"[\r]",
        Category.PROTOCOL,
        Severity.HIGH,
        (Target.ARG_NAMES, Target.PATH),
        "a line break in a path or in the name of an argument",
    ),
    BuiltinRule(
        "protocol-session-fixation",
        r"(?i)^\x01from elsewhere (?:|[^\r]* )(?:jsessionid|jsession|jwsession|php_?sessid|phpsession"
        r"|aspsession(?:id)?\w*|asp\.net_sessionid|cfid|cftoken|cfsid|connect\.sid|koa[.:]sess|laravel_session"
        r"|laravel_token|ci_session|cakephp|play_session|rack\.session|_rails_session|_session_id|django_session"
        r"|symfony|sails\.sid|next-auth\.session-token|__(?:host|secure)-[\w.\-]+|meteor_login_token|zend_session_id"
        r"|shiny-token|session-token|sessid|sid_session|weblogicsession|jservsession|viewstate_session)(?: |$)"
        r"|\.cookie\b[^\r]*;\W*(?:expires|domain)\W*=|\bhttp-equiv\W+set-cookie\b",
        Category.PROTOCOL,
        Severity.MEDIUM,
        (Target.ARG_NAMES, Target.ARGS, Target.REFERER),
        "a link on another site that brings the name of a session along",
    ),
    BuiltinRule(
        "protocol-not-inspected",
        r"^\x01uninspected ",
        Category.PROTOCOL,
        Severity.MEDIUM,
        (Target.URI, Target.HEADERS, Target.BODY, Target.ARGS),
        "a part of the request could not be inspected, or only as raw text",
        3,
    ),
    BuiltinRule(
        "protocol-too-long",
        r"^\x01uninspected (?:uri|header|form)$",
        Category.PROTOCOL,
        Severity.MEDIUM,
        (Target.URI, Target.HEADERS, Target.BODY),
        "a URI, header or form that is too long to be inspected as a whole",
    ),
    BuiltinRule(
        "protocol-open-redirect",
        r"(?i)^[\s]*(?:/{2,}|\\{2,}|/\\|\\/|https?:\\\\|https?:/\w|https?:\w)[\w.\-@%]+\.\w{2,}[/\\?#]?[^\s]*$",
        Category.PROTOCOL,
        Severity.LOW,
        (Target.ARGS, Target.BODY, Target.PATH),
        "an address that leads off the site without looking like it; recorded only",
        2,
        action=Action.MONITOR,
    ),
    BuiltinRule(
        "protocol-foreign-redirect",
        r"^\x01elsewhere ",
        Category.PROTOCOL,
        Severity.LOW,
        (Target.ARGS, Target.BODY),
        "an argument for a redirect that is a URL of another site; recorded only",
        2,
        action=Action.MONITOR,
    ),
    BuiltinRule(
        "protocol-odd-header",
        r"\x00|\r[A-Za-z][\w\-]+\s*:",
        Category.PROTOCOL,
        Severity.MEDIUM,
        (Target.HEADERS, Target.USER_AGENT),
        "a NUL or another header in a header",
    ),
)
