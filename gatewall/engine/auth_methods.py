"""Authentication methods of a session, as its claim ``amr`` names them (RFC 8176)."""

PASSWORD = "pwd"
APP_CODE = "otp"
MULTI_FACTOR = "mfa"
"""More than one factor; alone: a recovery code."""
PHISHING_RESISTANT = "phr"
"""OpenID Connect Extended Authentication Profile (EAP) ACR Values 1.0, section 2."""
FEDERATED = "fed"
"""Signed in at an identity provider; what that asked for counts only if it is trusted with it (``trust_amr``)."""
AUTH_METHODS = (PASSWORD, APP_CODE, MULTI_FACTOR, PHISHING_RESISTANT, FEDERATED)
SECOND_FACTORS = frozenset({APP_CODE, MULTI_FACTOR})
