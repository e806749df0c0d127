"""Cases written by hand, from one sentence each: subjects, the steps around the rules, credentials and rates."""

from tests.access_rules.examples import (
    ANN,
    BOB,
    CID,
    DENIED,
    INVALID,
    NOBODY,
    PASSES,
    PUBLIC,
    ROOT,
    SCOPE,
    SECOND,
    Case,
    a_request,
    a_rule,
    denied,
    forged,
    git_token,
    license_key,
    on,
    public,
    session,
    site,
)

RESISTANT = "401 phishing-resistant-required"
BOB_OTP, BOB_KEY = session("bob", "otp"), session("bob", "hwk", "mfa", "phr")

SUBJECTS: list[Case] = [
    Case("a group", site(a_rule("two_factor", groups=["staff"])), a_request("/", ANN), SECOND + " r1"),
    Case("another group: the next rule", site(a_rule("two_factor", groups=["ops"])), a_request("/", ANN), PASSES),
    Case("a user", site(denied(users=["bob"])), a_request("/", BOB), "403 access-denied r1"),
    Case("another user: the next rule", site(denied(users=["bob"]), PUBLIC), a_request("/", ANN), "200 path-public r2"),
    Case("users and groups are both asked", site(denied(users=["ann"], groups=["ops"])), a_request("/", ANN), PASSES),
    Case(
        "a kind of credential",
        site(denied(credential_kinds=["git-token"])),
        a_request("/", git_token("bob-token")),
        "403 access-denied r1",
    ),
    Case("another kind", site(denied(credential_kinds=["git-token"])), a_request("/", BOB), PASSES),
    Case(
        "a git token is its user",
        site(denied(groups=["staff"])),
        a_request("/", git_token("ann-token")),
        "403 access-denied r1",
    ),
    Case(
        "a license is no user",
        site(denied(users=["ann"]), PUBLIC),
        a_request("/", license_key("wide")),
        "200 path-public r2",
    ),
    Case(
        "nobody: signing in may help",
        site(a_rule("authenticated", users=["ann"]), PUBLIC),
        a_request("/"),
        NOBODY + " r1",
    ),
    Case("nobody: also where it would not", site(denied(users=["ann"]), PUBLIC), a_request("/"), NOBODY + " r1"),
    Case(
        "nobody, by an invalid credential",
        site(denied(users=["ann"]), PUBLIC),
        a_request("/", forged(ANN)),
        INVALID + " r1",
    ),
    Case("nobody on a public domain", site(a_rule("two_factor", users=["ann"])), on("open.example"), NOBODY + " r1"),
    Case(
        "somebody else on a public domain",
        site(a_rule("two_factor", users=["ann"])),
        on("open.example", "/", BOB),
        "200 host-public",
    ),
    Case(
        "nobody, but the request does not meet it",
        site(denied(users=["ann"], methods=["PUT"]), PUBLIC),
        a_request("/"),
        "200 path-public r2",
    ),
    Case(
        "nobody: one reading is open",
        site(a_rule("two_factor", "/a", users=["ann"]), PUBLIC),
        a_request("/b/../a"),
        NOBODY + " r1",
    ),
    Case(
        "nobody: one reading is denied to all",
        site(a_rule("denied", "/a", users=["ann"]), a_rule("denied", "/b/..."), PUBLIC),
        a_request("/b/../a"),
        "403 access-denied r2",
    ),
]
STEPS: list[Case] = [
    Case("denied to all: before credentials", site(DENIED), a_request("/", forged(BOB)), "403 access-denied r1"),
    Case(
        "denied to all: before the scope, admins too",
        site(DENIED),
        on("open.example", "/", ROOT),
        "403 access-denied r1",
    ),
    Case("denied to some: behind the scope", site(denied(users=["bob"])), on("open.example", "/", BOB), SCOPE + " r1"),
    Case(
        "denied to some: inside the scope",
        site(denied(users=["bob"])),
        on("two.example", "/", BOB),
        "403 access-denied r1",
    ),
    Case("public: no scope is asked", site(PUBLIC), on("other.test", "/", BOB), "200 path-public r1"),
    Case("public: an invalid credential is ignored", site(PUBLIC), a_request("/", forged(BOB)), "200 path-public r1"),
    Case("the scope holds as before", site(a_rule("authenticated")), on("open.example", "/", BOB), SCOPE + " r1"),
    Case("the scope of a group", site(), on("two.example", "/", session("cid", "otp")), PASSES),
    Case("the scope of a group is no other", site(), a_request("/", CID), SCOPE),
    Case("admins enter all", site(), a_request("/", ROOT), PASSES),
    Case(
        "the scope comes before the second factor",
        site(a_rule("two_factor")),
        on("open.example", "/", BOB),
        SCOPE + " r1",
    ),
    Case("a domain's second factor", site(), on("two.example", "/", BOB), SECOND),
    Case("a domain's second factor, proved", site(), on("two.example", "/", BOB_OTP), PASSES),
    Case("a rule's second factor", site(a_rule("two_factor")), a_request("/", BOB), SECOND + " r1"),
    Case(
        "a rule's second factor, proved",
        site(a_rule("two_factor")),
        a_request("/", session("bob", "mfa")),
        PASSES + " r1",
    ),
    Case("phishing", site(a_rule("phishing_resistant")), a_request("/", BOB_OTP), RESISTANT + " r1"),
    Case(
        "phishing, a key that does not say so",
        site(a_rule("phishing_resistant")),
        a_request("/", session("bob", "hwk", "mfa")),
        RESISTANT + " r1",
    ),
    Case(
        "phishing, a program",
        site(a_rule("phishing_resistant")),
        a_request("/", git_token("bob-token")),
        RESISTANT + " r1",
    ),
    Case("phishing, proved", site(a_rule("phishing_resistant")), a_request("/", BOB_KEY), PASSES + " r1"),
    Case("a passkey is a second factor", site(a_rule("two_factor")), a_request("/", BOB_KEY), PASSES + " r1"),
    Case(
        "a git token that is not named",
        site(a_rule("two_factor")),
        a_request("/", git_token("ann-token")),
        SECOND + " r1",
    ),
    Case(
        "a git token that is named",
        site(a_rule("two_factor")),
        a_request("/", git_token("bob-token")),
        "200 git-token-valid r1",
    ),
    Case(
        "a git token of an admin", site(a_rule("two_factor")), a_request("/", git_token("root-token")), SECOND + " r1"
    ),
    Case("a git token by a group", site(), on("two.example", "/", git_token("cid-token")), "200 git-token-valid"),
    Case("a license that is not named", site(), on("two.example", "/", license_key("wide")), SECOND),
    Case("a license that is named", site(), on("two.example", "/", license_key("narrow")), "200 license-valid"),
    Case(
        "the strictest of two readings",
        site(a_rule("two_factor", "/a"), a_rule("phishing_resistant", "/b/...")),
        a_request("/b/../a", BOB_OTP),
        RESISTANT + " r2",
    ),
]
CREDENTIALS: list[Case] = [
    Case("the first valid one counts", site(), a_request("/", forged(BOB), license_key("wide")), "200 license-valid"),
    Case("the order of credentials", site(), a_request("/", CID, license_key("wide")), SCOPE),
    Case("a disabled user", site(), a_request("/", session("off")), INVALID),
    Case("a git token of a disabled user", site(), a_request("/", git_token("off-token")), INVALID),
    Case("a git token that has expired", site(), a_request("/", git_token("old-token")), INVALID),
    Case("a license that has expired", site(), a_request("/", license_key("late")), INVALID),
    Case("a license that is off", site(), a_request("/", license_key("dead")), INVALID),
    Case("a license outside its scope", site(), on("one.wild.example", "/", license_key("narrow")), SCOPE),
]
LIMITED = public(rate_per_minute=9, methods=["GET"])
RATES: list[Case] = [
    Case("over a rule's rate", site(LIMITED), a_request("/", over_rate="rule"), "403 client-rate-limited r1"),
    Case("a rule that does not hold", site(LIMITED), a_request("/", BOB, method="POST", over_rate="rule"), PASSES),
    Case("a rule without a rate", site(PUBLIC), a_request("/", over_rate="rule"), "200 path-public r1"),
    Case("a rule that does not count", site(PUBLIC, LIMITED), a_request("/", over_rate="rule"), "200 path-public r1"),
    Case(
        "a rate of one reading",
        site(a_rule("authenticated", "/a", rate_per_minute=9)),
        a_request("//a", BOB, over_rate="rule"),
        "403 client-rate-limited r1",
    ),
    Case(
        "the step before what is denied",
        site(denied(rate_per_minute=9)),
        a_request("/", over_rate="rule"),
        "403 client-rate-limited r1",
    ),
    Case(
        "nobody: the rule that would ask who",
        site(denied(users=["ann"], rate_per_minute=9)),
        a_request("/", over_rate="rule"),
        "403 client-rate-limited r1",
    ),
    Case(
        "somebody who is not meant",
        site(denied(users=["ann"], rate_per_minute=9)),
        a_request("/", BOB, over_rate="rule"),
        PASSES,
    ),
    Case("the rate of the settings is off", site(LIMITED), a_request("/", over_rate="client"), "200 path-public r1"),
    Case("the rate of the settings", site(rate=60), a_request("/", BOB, over_rate="client"), "403 client-rate-limited"),
]

STEP_CASES = [*SUBJECTS, *STEPS, *CREDENTIALS, *RATES]
