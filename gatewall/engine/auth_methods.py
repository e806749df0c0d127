"""Authentication methods of a session, as its claim ``amr`` names them (RFC 8176)."""

PASSWORD = "pwd"
APP_CODE = "otp"
MULTI_FACTOR = "mfa"
"""More than one factor; alone: a recovery code."""
HARDWARE_KEY = "hwk"
"""A device-bound passkey."""
SOFTWARE_KEY = "swk"
"""A passkey that its provider synchronizes."""
PHISHING_RESISTANT = "phr"
"""OpenID Connect Extended Authentication Profile (EAP) ACR Values 1.0, section 2."""
FEDERATED = "fed"
"""Signed in at an identity provider; its methods count only if it is trusted with them (``trust_amr``)."""
AUTH_METHODS = (PASSWORD, APP_CODE, MULTI_FACTOR, HARDWARE_KEY, SOFTWARE_KEY, PHISHING_RESISTANT, FEDERATED)
SECOND_FACTORS = frozenset({APP_CODE, MULTI_FACTOR})
