"""docs/proxies/spoofed-headers.md is right about what a site gets under each forged header through each proxy."""

from tests.proxies.every import spoofing
from tests.proxies.every.kinds import KINDS, UNTRUSTED


def test_every_forged_header_is_replaced_as_documented(stub, record_property):
    stub.gate.headers = spoofing.ANSWER

    cells = spoofing.observed(stub)

    record_property("spoofed", stub.kind)
    record_property("cells", list(cells.values()))
    assert [name for name, cell in cells.items() if spoofing.VISITOR in cell] == []
    assert cells == spoofing.written()[stub.kind], "python -m tests.proxies.every.spoofing writes it"


def test_page_has_a_row_for_each_name_and_its_text_is_what_the_module_writes():
    page = spoofing.PAGE.read_text(encoding="utf-8")

    written = spoofing.written()

    assert {kind: tuple(cells) for kind, cells in written.items()} == dict.fromkeys(KINDS, UNTRUSTED)
    assert spoofing.rendered(written) == page.partition(spoofing.BEGIN)[2].partition(spoofing.END)[0]
