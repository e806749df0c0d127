"""Attacks by class, written for this project from what is commonly known (payloads.txt); addresses are those for examples."""

from pathlib import Path

PAYLOADS: dict[str, list[str]] = {}
for _line in (Path(__file__).parent / "payloads.txt").read_text().splitlines():
    if _line[:1] == "[" and _line[-1:] == "]" and _line[1:-1].isalpha() and len(_line) < 12:
        _kind = PAYLOADS.setdefault(_line[1:-1], [])
    else:
        _kind.append(_line)
AGENTS = (
    "sqlmap/1.7.2#stable (https://sqlmap.org)",
    "Mozilla/5.00 (Nikto/2.1.6) (Evasions:None) (Test:Port Check)",
    "Nuclei - Open-source",
    "masscan/1.3",
    "WPScan v3.8.22",
    "gobuster/3.5",
    "Fuzz Faster U Fool v2.0",
    "Wfuzz/3.1.0",
    "Nmap Scripting Engine",
    "zgrab/0.x",
    "Mozilla/4.0 (compatible; Nessus SOAP)",
    "Acunetix Web Vulnerability Scanner",
    "dirbuster-1.0",
    "feroxbuster/2.10.0",
    "arachni/1.5",
)
"""Scanners that name themselves; they are sent in the user agent only, without encoding."""
