"""What looks like an attack and is none, by the rule that must leave it alone."""

from tests.unit.attacks import agent, arg, header, path

HARMLESS = {
    "sqli-union-select": [
        arg("european union selected members"),
        arg("reunion select committee"),
        arg("union of all selects"),
        arg("select a union"),
    ],
    "sqli-tautology": [
        arg("it's either or"),
        arg("O'Brien or O'Neil"),
        arg("rock 'n' roll and 2 more"),
        arg('say "yes" or "no"'),
    ],
    "sqli-stacked-query": [
        arg("drop table and chairs"),
        arg("first; update the docs"),
        arg("tables; drop-down menus"),
        arg("a; insert coin"),
    ],
    "sqli-time-delay": [
        arg("how to sleep (well)"),
        arg("benchmark results (2024)"),
        arg("time.sleep(seconds)"),
        arg("waitfor delay"),
    ],
    "xss-script-tag": [
        arg("description of a manuscript"),
        arg("a < scripture"),
        arg("javascript tutorial"),
        arg("<scripture>"),
    ],
    "xss-event-handler": [
        arg("a < b and onward = forward"),
        arg("onclick=1"),
        arg("<b>bold</b> one = 1"),
        arg("<img src=x>"),
    ],
    "xss-script-url": [
        arg("what is javascript: a guide"),
        arg("href=/javascript/intro"),
        arg("src=https://cdn.example/javascript.js"),
    ],
    "traversal-dot-dot": [
        arg("wait... what"),
        arg("version 1..2"),
        path("/a..b/c"),
        path("/...//x"),
        path("/archive/2024..2025/report"),
        path("/archive/2024.."),
        path("/..."),
        path("/?range=.."),
        arg("and so on/..."),
    ],
    "traversal-system-file": [
        arg("/etc/passwords-guide"),
        arg("etc passwd"),
        path("/docs/etc/overview"),
        path("/process/self/x"),
    ],
    "traversal-nul-byte": [arg("100% 00"), path("/x%20y"), arg("\\0"), path("/x00.html")],
    "rce-shell-command": [
        arg("cats; dogs"),
        arg("a | identity"),
        arg("tom & ida"),
        arg("heroine; more than that"),
        arg("x;category=1"),
        agent("Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101"),
        agent("Mozilla/5.0 (compatible; Pingdom)"),
    ],
    "rce-shellshock": [
        header("function() { return 1 }"),
        header("f() {}"),
        agent("Mozilla/5.0 () {"),
    ],
    "injection-jndi-lookup": [
        arg("${name}"),
        arg("what is jndi:ldap"),
        arg("$ {price}"),
        header("${HOME}"),
        arg("${date:yyyy}"),
    ],
    "injection-php-code": [
        arg("<?xml version='1.0'?>"),
        path("/index.php?x=1"),
        arg("php: input and filter"),
        arg("what is allow_url_include"),
    ],
    "ssrf-metadata-service": [
        arg("169.254.169.25"),
        arg("https://example.com/?x=metadata"),
        arg("http://169.254.1.1/"),
        arg("http://metadata.example/"),
    ],
    "scanner-user-agent": [
        agent("Mozilla/5.0 (Windows NT 10.0; Win64; x64)"),
        agent("curl/8.5.0"),
        agent("sqlmapper"),
        arg("sqlmap tutorial"),
    ],
    "scanner-secret-file": [
        path("/.well-known/acme-challenge/x"),
        path("/environment"),
        path("/.gitignore"),
        path("/git/config"),
        path("/docs/.environment"),
        path("/?f=/.env"),
    ],
    "protocol-header-injection": [
        arg("first line\nsecond line"),
        arg("location: berlin"),
        arg("line\r\nlocated here"),
        path("/set-cookie:x"),
    ],
}
