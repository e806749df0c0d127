"""Run the real parsers over the table and record what they see, with their versions:

python -m tests.corpora.evasions --php PHP --modules node_modules --classpath JACKSON_JARS
"""

import argparse
import json
from pathlib import Path

import django

from tests.corpora.evasions.table import SITES, rows

RECORDED = Path(__file__).with_name("recorded.json")


def main() -> None:
    parser = argparse.ArgumentParser(description="records what PHP, Express, Jackson and Xerces see of the table")
    parser.add_argument("--php", type=str.split, required=True, help="the command of PHP 8, with its options")
    parser.add_argument("--modules", type=Path, required=True, help="node_modules with qs, busboy and body-parser")
    parser.add_argument("--classpath", required=True, help="the jars of jackson-core, -databind and -annotations")
    chosen = parser.parse_args()
    django.setup()
    from tests.corpora.evasions import judges  # noqa: PLC0415 - after django.setup()

    by_site = {site: [row for row in rows() if row.site == site] for site in SITES}
    found = [
        judges.php_sees(by_site["PHP"] + by_site["libxml2"], chosen.php),
        judges.express_sees(by_site["Express"] + by_site["body-parser"], chosen.modules),
        judges.jackson_sees(by_site["Jackson"], chosen.classpath),
        judges.xerces_sees(by_site["Xerces"]),
    ]
    versions = {name: version for each in found for name, version in each.versions.items()}
    seen = {name: sees for each in found for name, sees in each.items()}
    RECORDED.write_text(json.dumps({"versions": versions, "seen": seen}, indent=1, sort_keys=True) + "\n")
    print(f"{sum(seen.values())} of {len(seen)} seen, by {versions}")


if __name__ == "__main__":
    main()
