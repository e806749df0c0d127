"""Signatures of webhooks follow the Standard Webhooks specification."""

import base64

from webhooks import signing

# The example of the specification's reference libraries.
SECRET = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
MESSAGE, TIMESTAMP, BODY = "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_the_signature_is_that_of_the_specification():
    headers = signing.headers(MESSAGE, TIMESTAMP, BODY, [base64.b64decode(SECRET)])

    assert headers == {
        "webhook-id": MESSAGE,
        "webhook-timestamp": str(TIMESTAMP),
        "webhook-signature": SIGNATURE,
    }


def test_every_key_signs():
    headers = signing.headers(MESSAGE, TIMESTAMP, BODY, [b"new" * 10, base64.b64decode(SECRET)])

    first, second = headers["webhook-signature"].split(" ")
    assert second == SIGNATURE
    assert first.startswith("v1,")
    assert first != second


def test_a_secret_is_random_and_shown_in_the_specified_format():
    secret = signing.new_secret()

    assert 24 <= len(secret) <= 64
    assert base64.b64decode(signing.shown(secret).removeprefix("whsec_")) == secret
    assert secret != signing.new_secret()
