"""Demo site behind the gate: one page with the user and the headers of the request."""

import os
from collections.abc import Callable, Iterable
from html import escape

Environ = dict[str, object]
StartResponse = Callable[[str, list[tuple[str, str]]], object]

ROOT_PATH = os.environ.get("DEMO_ROOT_PATH", "/wall")
IDENTITY = (
    ("You are", "HTTP_REMOTE_USER"),
    ("Groups", "HTTP_REMOTE_GROUPS"),
    ("Let in as", "HTTP_X_GATEWALL_SUBJECT_KIND"),
    ("Decision", "HTTP_X_GATEWALL_DECISION_ID"),
)

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Demo site behind Gatewall</title>
<style>
:root {{ color-scheme: light dark; --ink: #1d2733; --soft: #5b6878; --page: #f4f6f8; --card: #fff; --line: #dde3ea;
  --accent: #0b6b50; }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e7ecf2; --soft: #9aa7b5; --page: #12171d; --card: #1b222b;
  --line: #2d3743; --accent: #5fd0a8; }} }}
body {{ margin: 0; font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--page); }}
main {{ max-width: 46rem; margin: 8vh auto; padding: 0 1.25rem; }}
h1 {{ font-size: 1.6rem; margin: 0 0 .25rem; }}
p {{ color: var(--soft); margin: .25rem 0 1.5rem; }}
section {{ background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 1.25rem 1.5rem;
  margin-bottom: 1.25rem; }}
h2 {{ font-size: 1rem; margin: 0 0 .75rem; }}
dl, table {{ margin: 0; width: 100%; }}
dl {{ display: grid; grid-template-columns: 8rem 1fr; gap: .4rem 1rem; }}
dt, th {{ color: var(--soft); font-weight: 400; text-align: left; vertical-align: top; }}
dd {{ margin: 0; }}
dd, td {{ overflow-wrap: anywhere; font-family: ui-monospace, monospace; font-size: .9rem; }}
th {{ width: 13rem; padding: .15rem 1rem .15rem 0; font-size: .9rem; }}
nav {{ display: flex; gap: 1.5rem; margin-bottom: 1.25rem; }}
a {{ color: var(--accent); }}
button {{ font: inherit; padding: .5rem 1.1rem; border: 1px solid var(--accent); border-radius: 8px;
  color: var(--accent); background: none; cursor: pointer; }}
button:focus-visible {{ outline: 3px solid var(--accent); outline-offset: 2px; }}
</style>
</head>
<body>
<main>
<h1>You are through</h1>
<p>This page stands behind nginx. Gatewall was asked before it answered you.</p>
<section aria-labelledby="who"><h2 id="who">What the gate said</h2><dl>{identity}</dl></section>
<section aria-labelledby="headers"><h2 id="headers">Headers this site received</h2>
<p>No password, token or sign-in cookie is among them: nginx removed those.</p>
<table>{headers}</table></section>
<nav><a href="{guard}">Your account</a> <a href="{administration}">Administration</a></nav>
<form method="post" action="{sign_out}"><button>Sign out</button></form>
</main>
</body>
</html>
"""
RESPONSE_HEADERS = [
    ("Content-Type", "text/html; charset=utf-8"),
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "same-origin"),
    (
        "Content-Security-Policy",
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
]


def application(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    """Answer every path with the page."""
    body = page(environ)
    start_response("200 OK", [*RESPONSE_HEADERS, ("Content-Length", str(len(body)))])
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]


def page(environ: Environ) -> bytes:
    """Return the page for a request; all input is escaped."""
    identity = "".join(f"<dt>{label}</dt><dd>{text(environ.get(key) or '-')}</dd>" for label, key in IDENTITY)
    headers = "".join(
        f'<tr><th scope="row">{text(header_name(key))}</th><td>{text(value)}</td></tr>'
        for key, value in sorted(environ.items())
        if key.startswith("HTTP_")
    )
    links = {"guard": "/account", "administration": "/administration", "sign_out": "/sign-out"}
    paths = {name: escape(ROOT_PATH + path, quote=True) for name, path in links.items()}
    return PAGE.format(identity=identity, headers=headers, **paths).encode()


def header_name(key: str) -> str:
    """Return `HTTP_REMOTE_USER` as `Remote-User`."""
    return key.removeprefix("HTTP_").replace("_", "-").title()


def text(value: object) -> str:
    """Return a header value as HTML: WSGI passes bytes as Latin-1, most of them are UTF-8."""
    return escape(str(value).encode("latin-1", "replace").decode("utf-8", "replace"), quote=True)
