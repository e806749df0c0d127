"""Time-based codes against the vectors of their RFCs, and the QR code read back by a decoder."""

import io
import re
from base64 import b64decode
from itertools import chain
from urllib.parse import parse_qs, unquote, urlsplit

import png
import pytest
import qrcode
import zxingcpp
from hypothesis import given
from hypothesis import strategies as st
from qrcode.image.pure import PyPNGImage

from accounts.sign_in import totp_codes
from tests.support.second_factor import STEP, App, code_of_step, secret_of

SECRET = b"12345678901234567890"
RFC_6238 = [
    (59, "94287082"),
    (1111111109, "07081804"),
    (1111111111, "14050471"),
    (1234567890, "89005924"),
    (2000000000, "69279037"),
    (20000000000, "65353130"),
]
RFC_4226 = ["755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871", "520489"]
NOW = 1_773_480_413.0
NOW_STEP = int(NOW // STEP)
APP = App(SECRET)


@pytest.mark.parametrize(("at", "code"), RFC_6238)
def test_the_vectors_of_rfc_6238_match(at, code):
    assert totp_codes.matching_step(SECRET, code[-6:], at=at, after=-1) == at // STEP


@pytest.mark.parametrize(("counter", "code"), list(enumerate(RFC_4226)))
def test_the_vectors_of_rfc_4226_match(counter, code):
    assert totp_codes.matching_step(SECRET, code, at=counter * STEP, after=-1) == counter


@pytest.mark.parametrize(
    ("steps", "is_taken"), [(-3, False), (-2, False), (-1, True), (0, True), (1, True), (2, False)]
)
def test_a_step_before_and_one_after_are_taken(steps, is_taken):
    found = totp_codes.matching_step(SECRET, APP.code(steps=steps, at=NOW), at=NOW, after=-1)

    assert found == (NOW_STEP + steps if is_taken else None)


@pytest.mark.parametrize(
    ("seconds", "is_taken"), [(-30.001, False), (-30, True), (0, True), (59.999, True), (60, False)]
)
def test_a_code_is_taken_for_ninety_seconds(seconds, is_taken):
    begins = NOW_STEP * STEP
    found = totp_codes.matching_step(SECRET, code_of_step(SECRET, NOW_STEP), at=begins + seconds, after=-1)

    assert found == (NOW_STEP if is_taken else None)


@pytest.mark.parametrize(("used", "is_taken"), [(-1, True), (0, False), (1, False)])
def test_only_steps_after_the_last_used_one_are_accepted(used, is_taken):
    found = totp_codes.matching_step(SECRET, APP.code(at=NOW), at=NOW, after=NOW_STEP + used)

    assert found == (NOW_STEP if is_taken else None)


def test_a_code_matches_at_the_unix_epoch():
    assert totp_codes.matching_step(SECRET, RFC_4226[0], at=0.0, after=-1) == 0


@pytest.mark.parametrize(
    "code",
    [
        "",
        "12345",
        "1234567",
        "12345a",
        " 12345",
        "123 456",
        "-12345",
        "+12345",
        "12345\n",
        "1_2345",
        "0x1234",
        "1e1000",
        "\u0661\u0662\u0663\u0664\u0665\u0666",
        "\uff11\uff12\uff13\uff14\uff15\uff16",
        "12345\u00b2",
        "12345\0",
        "\ud800" * 6,
    ],
    ids=ascii,
)
def test_other_texts_than_six_ascii_digits_are_no_code(code):
    assert not totp_codes.is_code(code)
    assert totp_codes.matching_step(SECRET, code, at=NOW, after=-1) is None


def test_arabic_digits_of_the_right_code_are_not_taken():
    arabic = APP.code(at=NOW).translate({ord(str(digit)): 0x660 + digit for digit in range(10)})

    assert totp_codes.matching_step(SECRET, arabic, at=NOW, after=-1) is None


def test_a_code_that_begins_with_zeros_is_taken_with_them_alone():
    step = next(step for step in range(10_000) if code_of_step(SECRET, step).startswith("00"))
    code = code_of_step(SECRET, step)

    assert totp_codes.matching_step(SECRET, code, at=step * STEP, after=-1) == step
    assert totp_codes.matching_step(SECRET, code.lstrip("0"), at=step * STEP, after=-1) is None


@given(st.binary(min_size=20, max_size=20), st.integers(5, 10**9), st.integers(-5, 5))
def test_codes_of_every_secret_are_those_of_the_rfc(secret, step, drift):
    found = totp_codes.matching_step(secret, code_of_step(secret, step + drift), at=step * STEP, after=-1)

    assert found is not None if abs(drift) <= 1 else found in {None, *(step + each for each in (-1, 0, 1))}


def test_codes_of_another_secret_do_not_match():
    assert totp_codes.matching_step(SECRET[::-1], APP.code(at=NOW), at=NOW, after=-1) is None


def test_a_secret_has_160_random_bits():
    secrets = {totp_codes.new_secret() for _ in range(100)}

    assert len(secrets) == 100
    assert {len(secret) for secret in secrets} == {20}


def test_the_uri_has_all_parameters_for_an_app():
    parts = urlsplit(totp_codes.otpauth_uri(SECRET, "alice"))
    query = dict(parse_qs(parts.query).items())

    assert (parts.scheme, parts.netloc, parts.path) == ("otpauth", "totp", "/Gatewall:alice")
    assert {name: values[0] for name, values in query.items()} == {
        "secret": totp_codes.base32(SECRET),
        "issuer": "Gatewall",
        "algorithm": "SHA1",
        "digits": "6",
        "period": "30",
    }
    assert all(len(values) == 1 for values in query.values())
    assert secret_of(query["secret"][0]) == SECRET


@pytest.mark.parametrize("username", ["alice", "a.b_c-d", "alice+x@office.example", "x" * 64])
def test_every_name_survives_the_uri(username):
    parts = urlsplit(totp_codes.otpauth_uri(SECRET, username))

    assert unquote(parts.path) == f"/Gatewall:{username}"
    assert set(parse_qs(parts.query)) == {"secret", "issuer", "algorithm", "digits", "period"}


def test_a_secret_is_shown_without_padding():
    assert re.fullmatch("[A-Z2-7]{32}", totp_codes.base32(SECRET))


def decoded(pixels: list[list[int]]) -> str:
    """Return the content of the QR code of an image, given as rows of 0 (dark) and 255."""
    image = memoryview(bytes(chain(*pixels))).cast("B", shape=[len(pixels), len(pixels[0])])
    (found,) = zxingcpp.read_barcodes(image, formats=zxingcpp.BarcodeFormats(zxingcpp.BarcodeFormat.QRCode))
    return found.text


@pytest.mark.parametrize("username", ["bob", "alice+x@office.example", "x" * 64])
def test_the_png_is_read_back(username):
    uri = totp_codes.otpauth_uri(SECRET, username)
    head, _, body = totp_codes.qr_png(totp_codes.qr_code(uri)).partition(",")
    _, _, rows, about = png.Reader(file=io.BytesIO(b64decode(body, validate=True))).read()

    assert head == "data:image/png;base64"
    assert (about["bitdepth"], about["greyscale"]) == (1, True)
    pixels = [[*row] for row in rows]
    assert decoded([[255 * pixel for pixel in row] for row in pixels]) == uri
    code = qrcode.QRCode(error_correction=qrcode.constants.ERROR_CORRECT_M, image_factory=PyPNGImage)
    code.add_data(uri)
    code.make_image().save(drawn := io.BytesIO())
    assert pixels == [[*row] for row in png.Reader(bytes=drawn.getvalue()).read()[2]]  # as the library draws it


@pytest.mark.parametrize("username", ["bob", "alice+x@office.example", "x" * 64])
def test_the_svg_is_read_back(username):
    uri = totp_codes.otpauth_uri(SECRET, username)
    text = totp_codes.qr_svg(totp_codes.qr_code(uri))
    side = int(re.search(r'viewBox="0 0 (\d+) \1"', text)[1])
    dark = {(int(x), int(y)) for x, y in re.findall(r"M(\d+),(\d+)H", text)}

    size = range(side * 4)
    assert decoded([[0 if (x // 4, y // 4) in dark else 255 for x in size] for y in size]) == uri


def test_the_svg_has_no_script_and_loads_nothing():
    text = totp_codes.qr_svg(totp_codes.qr_code(totp_codes.otpauth_uri(SECRET, "bob")))

    assert "<script" not in text
    assert "href" not in text
    assert re.findall(r"https?://[^\"]*", text) == ["http://www.w3.org/2000/svg"]
