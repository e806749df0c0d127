"""Every kind of change that grants or revokes access, each with the request whose answer it changes."""

import http.client
from contextlib import closing

from tests.servers.site import PASSWORD, Change
from tests.support.moments import in_an_hour
from tests.support.processes import PATIENCE
from tests.support.servers import ATTACK, OFFICE, Admin, about
from tests.support.token_forger import claims_of

NEW_ZEALAND = "192.0.2.77"


def blocklist_add(site):
    client = site.new_client()
    return Change(lambda: site.admin.post("/ip-black-list", ip=client), site.mine(client=client), 200, 403)


def blocklist_remove(site):
    client = site.new_client()
    entry = site.admin.post("/ip-black-list", ip=client)
    return Change(lambda: site.admin.delete(f"/ip-black-list/{entry['id']}"), site.mine(client=client), 403, 200)


def allowlist_add(site):
    client = site.new_client()
    return Change(lambda: site.admin.post("/ip-white-list", ip=client), about(client=client), 401, 200)


def allowlist_remove(site):
    client = site.new_client()
    entry = site.admin.post("/ip-white-list", ip=client)
    return Change(lambda: site.admin.delete(f"/ip-white-list/{entry['id']}"), about(client=client), 200, 401)


def domain_add(site):
    name = site.new("added.example")
    return Change(lambda: site.admin.post("/authorized-domains", name=name), site.mine(host=name), 403, 200)


def domain_denied(site):
    name = site.new("shut.example")
    domain = site.admin.post("/authorized-domains", name=name)
    write = lambda: site.admin.put(f"/authorized-domains/{domain['id']}", access="denied")  # noqa: E731
    return Change(write, site.mine(host=name), 200, 403)


def domain_remove(site):
    name = site.new("gone.example")
    domain = site.admin.post("/authorized-domains", name=name)
    return Change(lambda: site.admin.delete(f"/authorized-domains/{domain['id']}"), site.mine(host=name), 200, 403)


def geo_rule(site):
    for rule in site.admin.get("/geo-block-rules")["results"]:
        site.admin.delete(f"/geo-block-rules/{rule['id']}")
    write = lambda: site.admin.post("/geo-block-rules", country_code="NZ")  # noqa: E731
    return Change(write, site.mine(client=NEW_ZEALAND), 200, 403)


def waf_rule(site):
    name = site.new("canary")
    write = lambda: site.admin.post("/waf-rules", name=name, pattern=f"{name}-[0-9]+")  # noqa: E731
    return Change(write, site.mine(uri=f"/{name}-7"), 200, 403)


def access_rule(site):
    path = f"/{site.new('open')}"
    rule = {"name": path, "access": "public", "paths": [{"match": "prefix", "value": path}]}
    return Change(lambda: site.admin.post("/access-rules", **rule), about(uri=path), 401, 200)


def access_rule_moved(site):
    path = f"/{site.new('closed')}"
    rule = {"paths": [{"match": "prefix", "value": path}], "position": 1}
    site.admin.post("/access-rules", name=f"{path} open", access="public", **rule)
    closed = site.admin.post("/access-rules", name=f"{path} closed", access="denied", **{**rule, "position": 2})
    write = lambda: site.admin.put(f"/access-rules/{closed['id']}", position=1)  # noqa: E731
    return Change(write, about(uri=path), 200, 403)


def settings(site):
    return Change(lambda: site.admin.put("/system/settings", waf_mode="off"), site.mine(uri=ATTACK), 403, 200)


def user_disabled(site):
    user, question = site.user()
    return Change(lambda: site.admin.put(f"/users/{user}", is_active=False), question, 200, 401)


def user_deleted(site):
    user, question = site.user()
    return Change(lambda: site.admin.delete(f"/users/{user}"), question, 200, 401)


def user_demoted(site):
    user, question = site.user(is_admin=True)
    return Change(lambda: site.admin.put(f"/users/{user}", is_admin=False), question, 200, 401)


def user_password(site):
    user, question = site.user()
    return Change(lambda: site.admin.put(f"/users/{user}", password="a new one, no less"), question, 200, 401)


def own_password(site):
    name = site.new("own-password")
    user, question = site.user(name)
    mine = Admin(site.control, name, PASSWORD)
    change = {"current_password": PASSWORD, "new_password": "a new one, no less"}
    return Change(lambda: mine.put(f"/users/{user}/password", **change), question, 200, 401)


def second_factor_recovered(site):
    name = site.new("recovered")
    _, question = site.user(name, is_admin=True)
    call = {"username": name, "password": PASSWORD, "recovery_key": site.recovery_key}
    return Change(lambda: site.admin.post("/admin-recover-2fa", **call), question, 200, 401)


def session_delete(site):
    user, question = site.user()
    jti = claims_of(question["Service-Authorization"])["jti"]
    return Change(lambda: site.admin.delete(f"/users/{user}/sessions/{jti}"), question, 200, 401)


def user_scope(site):
    user, question = site.user()
    return Change(lambda: site.admin.put(f"/users/{user}", all_domains=False), question, 200, 403)


def _member(site, **scope):
    """Create a group, and a user with only its scope; return both ids and the user's request."""
    name = site.new("group")
    group = site.admin.post("/groups", name=name, **scope)
    user, question = site.user(all_domains=False, groups=[name])
    return group["id"], user, question


def group_scope(site):
    group, _, question = _member(site, all_domains=True)
    return Change(lambda: site.admin.put(f"/groups/{group}", all_domains=False), question, 200, 403)


def group_member_removed(site):
    _, user, question = _member(site, authorized_domains=[OFFICE])
    return Change(lambda: site.admin.put(f"/users/{user}", groups=[]), question, 200, 403)


def group_deleted(site):
    group, _, question = _member(site, authorized_domains=[OFFICE])
    return Change(lambda: site.admin.delete(f"/groups/{group}"), question, 200, 403)


def _rule(site, access, path, **conditions):
    """Create an access rule for one path."""
    paths = [{"match": "exact", "value": path}]
    return site.admin.post("/access-rules", name=f"{access} {path}", access=access, paths=paths, **conditions)


def access_rule_denies(site):
    path = f"/{site.new('closed')}"
    return Change(lambda: _rule(site, "denied", path), site.mine(uri=path), 200, 403)


def access_rule_deleted(site):
    path = f"/{site.new('hook')}"
    rule = _rule(site, "public", path)["id"]
    return Change(lambda: site.admin.delete(f"/access-rules/{rule}"), about(uri=path), 200, 401)


def member_of_a_rule_removed(site):
    path, name = f"/{site.new('family')}", site.new("group")
    site.admin.post("/groups", name=name)
    user, question = site.user(groups=[name])
    _rule(site, "authenticated", path, groups=[name])
    _rule(site, "denied", path)
    return Change(lambda: site.admin.put(f"/users/{user}", groups=[]), {**question, **about(uri=path)}, 200, 403)


def grant_deleted(site):
    name = site.new("guest")
    _, question = site.user(name, all_domains=False)
    grant = site.admin.post("/grants", user=name, domain=OFFICE, expires_at=in_an_hour())
    return Change(lambda: site.admin.delete(f"/grants/{grant['id']}"), question, 200, 403)


def member_of_a_grant_removed(site):
    _, user, question = _member(site)
    group = site.admin.get(f"/users/{user}")["groups"][0]
    site.admin.post("/grants", group=group, domain=OFFICE, expires_at=in_an_hour())
    return Change(lambda: site.admin.put(f"/users/{user}", groups=[]), question, 200, 403)


def logout(site):
    guest = Admin(site.control)
    return Change(lambda: guest.post("/logout"), about(Service_Authorization=guest.token), 200, 401)


def license_delete(site):
    row = site.admin.post("/licenses", name=site.new("farm"))
    return Change(lambda: site.admin.delete(f"/licenses/{row['id']}"), about(Service_License=row["token"]), 200, 401)


def license_disabled(site):
    row = site.admin.post("/licenses", name=site.new("barn"))
    write = lambda: site.admin.put(f"/licenses/{row['id']}", is_active=False)  # noqa: E731
    return Change(write, about(Service_License=row["token"]), 200, 401)


def git_token_of_disabled(site):
    name = site.new("git")
    user, _ = site.user(name)
    row = site.admin.post(f"/users/{user}/git-tokens", name="laptop")
    question = about(Service_Git_Token=f"{name}:{row['token']}")
    return Change(lambda: site.admin.put(f"/users/{user}", is_active=False), question, 200, 401)


def git_token_delete(site):
    row = site.admin.post("/users/1/git-tokens", name=site.new("laptop"))
    question = about(Service_Git_Token=f"admin:{row['token']}")
    return Change(lambda: site.admin.delete(f"/users/1/git-tokens/{row['id']}"), question, 200, 401)


def share_link_delete(site):
    """Open a share link in a browser, and revoke the link."""
    row = site.admin.post("/share-links", name=site.new("Anna"), domain=OFFICE, expires_at=in_an_hour())
    question = about(Cookie=opened(site.control, row["link"]), uri="/")
    return Change(lambda: site.admin.delete(f"/share-links/{row['id']}"), question, 200, 401)


def device_pass_delete(site):
    """Issue a device pass for a program at the user's own address, and revoke it."""
    program = site.new("tv")
    path = "/users/1/device-passes"
    row = site.admin.post(path, domain=OFFICE, program=program, expires_at=in_an_hour())
    question = about(client="127.0.0.1", User_Agent=f"{program}/1")
    return Change(lambda: site.admin.delete(f"{path}/{row['id']}"), question, 200, 401)


def opened(port, link):
    """Open a share link; return the cookie of the browser."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    path, _, token = link.partition(f"//{OFFICE}")[2].partition("?")
    headers = {"Host": OFFICE, "Content-Type": "application/x-www-form-urlencoded"}
    with closing(connection):
        connection.request("POST", path, token, headers)
        answer = connection.getresponse()
        assert answer.status == 303, answer.read()
        return answer.headers["Set-Cookie"].partition(";")[0]


def app_token_delete(site):
    row = site.admin.post("/users/1/app-tokens", name=site.new("calendar"), all_domains=True)
    question = about(Authorization=f"Bearer {row['token']}")
    return Change(lambda: site.admin.delete(f"/users/1/app-tokens/{row['id']}"), question, 200, 401)


POLICY = [
    blocklist_add,
    blocklist_remove,
    allowlist_add,
    allowlist_remove,
    domain_add,
    domain_denied,
    domain_remove,
    geo_rule,
    waf_rule,
    access_rule,
    access_rule_moved,
    settings,
    user_scope,
    group_scope,
    access_rule_denies,
]
REVOCATIONS = [
    logout,
    session_delete,
    own_password,
    user_password,
    user_demoted,
    user_disabled,
    user_deleted,
    group_member_removed,
    group_deleted,
    member_of_a_rule_removed,
    access_rule_deleted,
    grant_deleted,
    member_of_a_grant_removed,
    second_factor_recovered,
    git_token_delete,
    git_token_of_disabled,
    app_token_delete,
    share_link_delete,
    device_pass_delete,
    license_delete,
    license_disabled,
]
