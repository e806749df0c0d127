"""The key of the manifest: derived, written as text, read back."""

import pytest

from gatewall.credentials import base64url
from gatewall.credentials.manifest_key import from_text, manifest_key

SECRET = "Zk3rV9pQ1sT7uX2yB5nM8cL4fH6jW0aD"


def test_key_is_the_one_that_published_policies_are_signed_with():
    assert manifest_key(SECRET).hex() == "038db3d5d05a51088e93a864aa1d678021dc152819cdacaecd9f443af65f1017"


def test_text_is_read_back():
    assert from_text(base64url.encode(manifest_key(SECRET))) == manifest_key(SECRET)


@pytest.mark.parametrize(
    "text", ["", "short", SECRET, base64url.encode(bytes(31)), base64url.encode(bytes(33)), "=" * 43]
)
def test_other_text_is_no_key(text):
    assert from_text(text) is None
