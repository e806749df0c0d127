"""CPU cost of the WAF step: ``python -m bench.waf [--rounds N] [--corpus FILE.jsonl]``.

CPU microseconds of one thread in interleaved rounds of all engines over all requests, so that noise affects all of
them; the cost of the clock is subtracted. Quote the ratios to nine patterns of ``re``, not the microseconds. A corpus
replaces the built-in harmless requests.
"""

import argparse
import json
import random
import re
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote_plus

from audit.spool.records import PATH, QUERY, USER_AGENT
from bench import waf_worst
from gatewall.engine.model import AccessRequest, Action
from gatewall.engine.waf import decoding, reading
from gatewall.engine.waf.exclusions import Exclusion
from gatewall.engine.waf.judge import builtin_rules, request_of
from gatewall.engine.waf.matcher import RuleSet
from gatewall.engine.waf.rules import THRESHOLD, Target, WafRule
from gatewall.engine.waf.vector import CompiledNow
from gatewall.gate.record import masked

NINE = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\bunion\b\s+(?:all\s+)?\bselect\b",
        r";\s*(?:drop|alter|create|truncate|delete|insert|update)\s+\w+",
        r"['\"]\s*(?:or|and)\s+['\"]?\w+['\"]?\s*=\s*['\"]?\w+",
        r"['\"]\s*(?:--|#|/\*)",
        r"<script\b[^>]*>",
        r"\bon(?:load|error|click|mouseover|focus|blur|submit|change)\s*=",
        r"(?:javascript|vbscript)\s*:",
        r"\.\.[/\\]|%2e%2e(?:%2f|%5c|/|\\)",
        r"/etc/(?:passwd|shadow|group|hosts)|/proc/self/environ|\b(?:boot|win)\.ini\b",
    )
]
"""Patterns of a small gateway: SQL injection (union, stacked, boolean, comment), scripts (tag, eight handlers, two

schemes), traversal (dots, files). See docs/waf.md for how they were checked.
"""
_TOKENS = [
    "select", "union", "from", "where", "'", "or", "1=1", "--", "<script>", "alert(", "onerror=", "javascript:", "../",
    "/etc/passwd", ";cat", "|id", "$(", "`ls`", "${jndi:", "{{7*7}}", "system(", "<?php", "%27", "&lt;", "\\x3c",
    "/*x*/", "base64_decode",
]  # fmt: skip
_BROWSER = {
    "Host": "office.example",
    "Sec-Ch-Ua": '"Not.A/Brand";v="8", "Chromium";v="114", "Google Chrome";v="114"',
    "Sec-Ch-Ua-Mobile": "?0",
    "Sec-Ch-Ua-Platform": '"Windows"',
    "User-Agent": "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/114.0.0.0",
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
    "Accept-Encoding": "gzip, deflate, br",
    "Accept-Language": "en-GB,en;q=0.9,de;q=0.8",
    "Cache-Control": "no-cache",
    "Connection": "keep-alive",
    "Cookie": "theme=dark; sid=7f3a9c2e41d84b7a; _ga=GA1.2.1163290.1688379; lang=en",
    "Referer": "https://office.example/projects/42?tab=files",
    "Sec-Fetch-Dest": "document",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Site": "same-origin",
    "Upgrade-Insecure-Requests": "1",
    "X-Forwarded-Port": "443",
}
_MASKED = 16_384
_TO_MASK = (
    "%25", "gh%70_=%61&", "%2525a", "ghp_", "xoxb-a.", "%250", "%2567=", "a=gwg_%41&", "/eyJhbGciOi.eyJ_%41", "%u0041",
    "A_b-c%2Dd=%41&", "@a:b%40%3A/", "glpat-", '"a":', ":", ";token", "%zz%41", "sk-/",
    "a" * 190 + "=x&", "aB" * 95 + "=x&", "a_" * 95 + "=x&", "bcdefg_" * 9 + "=x&", "a%42" * 50 + "=x&",
)  # fmt: skip
_PATHS = (
    "/", "/projects/42?tab=files&page=2&sort=-name", "/search?q=annual+report+2024&lang=en", "/static/app.3f9a.js?v=12",
    "/api/v1/items?filter=price%3E10&fields=id,name", "/wiki/Main_Page", "/users/alice@example.com/settings",
    "/files/Quarterly%20report%20(final).pdf", "/repo.git/info/refs?service=git-upload-pack", "/calendar?from=2024",
)  # fmt: skip
_NINE, _BUILTIN = "nine patterns of re", "built-in rules"
Engine = Callable[[AccessRequest], object]


def nine_patterns(request: AccessRequest) -> bool:
    """Return whether a simple ``re`` filter matches path and query, raw and decoded once, or headers."""
    values = [*request.uri.partition("?")[::2]]
    values += [unquote_plus(each, encoding="latin-1") for each in values if "%" in each or "+" in each]
    values += [value for _, value in request.headers]
    return any(pattern.search(value) for pattern in NINE for value in values)


def browser_requests(count: int, *, new: bool = False) -> list[AccessRequest]:
    """Return browser requests, each slightly different; ``new`` ones share no cacheable values."""
    chance = random.Random(7)  # noqa: S311 - the same requests in every run
    requests = []
    for number in range(count):
        headers = {**_BROWSER, "Cookie": f"{_BROWSER['Cookie']}; visit={chance.getrandbits(64):x}"}
        if new:
            sid, mark = f"{chance.getrandbits(64):x}", number + chance.randrange(10**6)
            headers["Cookie"] = f"theme=dark{mark}; sid={sid}; _ga=GA1.2.{mark}.1688379; lang=en"
            headers["Referer"] += f"&from={mark}"
            headers["User-Agent"] += f" Edg/{mark}.0"
        uri = chance.choice(_PATHS)
        uri += f"{'&' if '?' in uri else '?'}_={number}{chance.randrange(10**6)}"
        requests.append(_request(uri, headers))
    return requests


def corpus_requests(path: Path, count: int) -> list[AccessRequest]:
    """Return harmless requests of a corpus (docs/waf.md)."""
    with path.open(encoding="ascii") as lines:
        items = [item for item in map(json.loads, lines) if item["label"] == "benign"]
    step = max(1, len(items) // count)
    return [_request(item["uri"], item["headers"], item["method"]) for item in items[::step]]


def _request(uri: str, headers: dict[str, str], method: str = "GET", body: bytes | None = None) -> AccessRequest:
    lines = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    return request_of(method.encode("latin-1"), uri.encode("latin-1"), lines, body)


def hostile_request(size: int) -> AccessRequest:
    """Return a request with this many bytes of attack words in one argument."""
    chance = random.Random(size)  # noqa: S311 - the same requests in every run
    words: list[str] = []
    while sum(map(len, words)) + len(words) < size:
        words.append(chance.choice(_TOKENS))
    return _request("/?q=" + "+".join(words)[:size].replace("&", "%26").replace("#", "%23"), _BROWSER)


def worst_requests() -> dict[str, AccessRequest]:
    """Return requests of the greatest size, made of the costliest content."""
    return waf_worst.worst_requests(_BROWSER)


def custom_rules(count: int) -> list[WafRule]:
    """Return this many typical custom rules, none of which matches."""
    return [
        WafRule(number, f"custom-{number}", rf"(?i)forbidden-{number}-\w+|/secret{number}/", targets=(target,))
        for number, target in enumerate([Target.URI, Target.PATH, Target.ARGS, Target.USER_AGENT] * (count // 4))
    ]


def some_monitored(rules: Sequence[WafRule]) -> list[WafRule]:
    """Return the rules on monitor except one for texts, which scans the worst cases to the end without a match."""
    return [each if each.name == "injection-ssi" else replace(each, action=Action.MONITOR) for each in rules]


def exclusions(count: int) -> tuple[Exclusion, ...]:
    """Return exclusions of a rule: one for an argument that the worst cases have, the others for other paths."""
    others = [Exclusion(path_glob=f"/x{number}/*/api/**") for number in range(count - 1)]
    return (Exclusion(argument="a"), *others)


def measure(engines: dict[str, Engine], requests: Sequence[AccessRequest], rounds: int) -> dict[str, list[float]]:
    """Return the CPU microseconds of each request by engine: the median of its rounds."""
    times: dict[str, list[list[float]]] = {name: [[] for _ in requests] for name in engines}
    clock = statistics.median([-time.thread_time_ns() + time.thread_time_ns() for _ in range(1000)])
    for _ in range(rounds):
        for name, engine in engines.items():
            for number, request in enumerate(requests):
                began = time.thread_time_ns()
                engine(request)
                times[name][number].append((time.thread_time_ns() - began - clock) / 1000)
    return {name: [statistics.median(each) for each in requests] for name, requests in times.items()}


def first_seen(engines: dict[str, Engine], count: int, rounds: int) -> dict[str, list[float]]:
    """Return the same for requests with unseen values: each round starts with empty caches."""
    times: dict[str, list[list[float]]] = {name: [[] for _ in range(count)] for name in engines}
    requests = browser_requests(count, new=True)
    for _ in range(rounds):
        decoding._short_base64_decoded.cache_clear()  # noqa: SLF001 - emptied only by benchmarks
        reading.short_referer_values.cache_clear()
        for name, costs in measure(engines, requests, 1).items():
            for number, cost in enumerate(costs):
                times[name][number].append(cost)
    return {name: [statistics.median(each) for each in requests] for name, requests in times.items()}


def _quantiles(values: Iterable[float]) -> tuple[float, float]:
    ordered = sorted(values)
    return ordered[len(ordered) // 2], ordered[len(ordered) * 99 // 100]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--corpus", type=Path, help="a .jsonl whose harmless requests are measured in place of ours")
    options = parser.parse_args()
    requests = browser_requests(options.requests)
    if options.corpus:
        requests = corpus_requests(options.corpus, options.requests)
    rules = builtin_rules()
    scanners = CompiledNow()
    sets = {
        _NINE: nine_patterns,
        _BUILTIN: _inspect(RuleSet(rules, scanners)),
        "built-in rules, RE2 alone": _inspect(RuleSet(rules)),
        "built-in and 10 custom": _inspect(RuleSet([*rules, *custom_rules(10)], scanners)),
        "built-in and 2,000 custom": _inspect(RuleSet([*rules, *custom_rules(2000)], scanners)),
    }
    costs = measure(sets, requests, options.rounds)
    _print(f"{options.rounds} interleaved rounds, {len(requests)} harmless requests, CPU us of one thread.\n")
    _table(costs)
    _print("\nThe same with values that no memo knows:\n")
    two = {name: sets[name] for name in (_NINE, _BUILTIN)}
    _table(first_seen(two, options.requests, options.rounds))
    ten, thousands = (_quantiles(costs[f"built-in and {each} custom"])[0] for each in ("10", "2,000"))
    _print(f"\n2,000 custom rules to 10: {thousands / ten:.2f}")
    benign = _quantiles(costs[_BUILTIN])[0]
    _hostile(sets[_BUILTIN], benign, options.rounds)
    monitored = [replace(rule, action=Action.MONITOR) for rule in rules]
    excluding = [replace(rule, exclusions=exclusions(50)) for rule in rules]
    engines = {
        "enforced": rules,
        "all on monitor": monitored,
        "all but one on monitor": some_monitored(rules),
        "each with 50 exclusions": excluding,
    }
    _masking(benign, options.rounds)
    found = {name: _inspect(RuleSet(each, scanners)) for name, each in engines.items()}
    _worst(found, benign, options.rounds)


def _table(costs: dict[str, list[float]]) -> None:
    base = _quantiles(costs[_NINE])
    _print("| Engine | p50 | p99 | p50 to nine | p99 to nine |\n|---|---|---|---|---|")
    for name, values in costs.items():
        half, most = _quantiles(values)
        _print(f"| {name} | {half:.1f} | {most:.1f} | {half / base[0]:.2f} | {most / base[1]:.2f} |")


def _worst(engines: dict[str, Engine], benign: float, rounds: int) -> None:
    """Print the costliest first: the middle of each one's rounds, as multiples of a harmless request."""
    _print(f"\n| Worst cases, to a harmless request | {' | '.join(engines)} |\n|---|{'---|' * len(engines)}")
    requests = worst_requests()
    costs = measure(engines, list(requests.values()), rounds)
    for cost, name in sorted(zip(zip(*costs.values(), strict=True), requests, strict=True), reverse=True):
        _print(f"| {name} | {' | '.join([f'{each / benign:.0f}' for each in cost])} |")


def _masking(benign: float, rounds: int) -> None:
    """Print what masking path, query and user agent for the access log costs, if all of them are hostile."""
    masks: dict[str, Engine] = {
        "path": lambda request: masked(PATH, request.uri),
        "query": lambda request: masked(QUERY, request.uri),
        "user agent": lambda request: masked(USER_AGENT, request.uri),
    }
    _print(f"\n| 16 KiB to mask, to a harmless request | {' | '.join(masks)} | all |\n|---|{'---|' * 4}")
    texts = {unit: "".join([f"{unit}{number}" for number in range(_MASKED)])[:_MASKED] for unit in _TO_MASK}
    costs = measure(masks, [_request(text, _BROWSER) for text in texts.values()], rounds)
    rows = [(sum(cost), *cost, unit) for *cost, unit in zip(*costs.values(), texts, strict=True)]
    for total, *cost, unit in sorted(rows, reverse=True):
        _print(f"| `{unit[:20]}` | {' | '.join([f'{each / benign:.0f}' for each in [*cost, total]])} |")


def _hostile(engine: Engine, benign: float, rounds: int) -> None:
    sizes = (1, 4, 16, 64)
    _print("\n| Attack words, KiB | us | us a KiB | to 1 KiB | to a harmless request |\n|---|---|---|---|---|")
    costs = measure({"it": engine}, [hostile_request(size * 1024) for size in sizes], rounds)["it"]
    for size, cost in zip(sizes, costs, strict=True):
        _print(f"| {size} | {cost:.0f} | {cost / size:.0f} | {cost / size / costs[0]:.2f} | {cost / benign:.1f} |")


def _inspect(rules: RuleSet) -> Engine:
    return lambda request: rules.inspect(request, None, THRESHOLD)


def _print(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - a command


if __name__ == "__main__":
    main()
