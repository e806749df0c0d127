-- Gatewall for HAProxy: the action `lua.gatewall` asks the gate about a request.
--   lua-load-per-thread gatewall.lua ADDRESS:PORT /PREFIX
-- A 200 puts identity headers into the request, takes our credentials out of it and sets txn.gatewall_yes; every
-- other answer of the gate ends the request, and so does none. The frontend must not go on without txn.gatewall_yes.

local gate, prefix = ...
local question = "http://" .. gate .. prefix .. "/auth/forward"
local MILLISECONDS = 5000

-- Headers of one connection, or of the body, which is not sent along.
local NOT_ASKED = {
    "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "expect",
    "content-length", "accept-encoding",
}
local IDENTITY = {
    "remote-user", "remote-email", "remote-groups", "x-forwarded-user", "x-forwarded-email", "x-forwarded-groups",
    "x-webauth-user", "x-webauth-email", "x-webauth-groups", "x-remote-user", "x-remote-email", "x-remote-groups",
    "x-auth-request-user", "x-auth-request-email", "x-auth-request-groups", "x-gatewall-identity",
    "x-gatewall-subject-kind", "x-gatewall-decision-id",
}
local CREDENTIALS = { "service-authorization", "service-git-token", "service-license" }
local FOR_THE_VISITOR = {
    "location", "www-authenticate", "retry-after", "cache-control", "content-type", "content-security-policy",
    "x-content-type-options", "x-gatewall-decision-id",
}
local PASSED_ON = { [302] = true, [303] = true, [401] = true, [403] = true, [503] = true }
local TRY_AGAIN = "This site cannot check your access right now. Try again in a moment.\n"

-- The first value of a header of the gate, nil if it has none.
local function said(answer, name)
    local values = answer.headers and answer.headers[name]
    return values and values[0]
end

-- Let the site see what the gate says, and no copy of the visitor's.
local function replace(txn, answer, name)
    txn.http:req_del_header(name)
    local value = said(answer, name)
    if value ~= nil and value ~= "" then
        txn.http:req_set_header(name, value)
    end
end

local function refuse(txn, status, answer)
    local reply = txn:reply({ status = status })
    if answer ~= nil then
        for _, name in ipairs(FOR_THE_VISITOR) do
            local value = said(answer, name)
            if value ~= nil and value ~= "" then
                reply:add_header(name, value)
            end
        end
        reply:set_body(answer.body or "")
    else
        reply:add_header("Retry-After", "1")
        reply:add_header("Content-Type", "text/plain")
        reply:set_body(TRY_AGAIN)
    end
    txn:done(reply)
end

-- What stands behind the host: HTTP/2, and some clients, name the host in the target too. `*` is as it came.
local function target(txn)
    local path = txn.f:pathq()
    return path ~= nil and path ~= "" and path or txn.f:url()
end

local function ask(txn)
    local headers = txn.http:req_get_headers()
    for _, name in ipairs(NOT_ASKED) do
        headers[name] = nil
    end
    headers["x-forwarded-method"] = { [0] = txn.f:method() }
    headers["x-forwarded-uri"] = { [0] = target(txn) }
    headers["user-agent"] = headers["user-agent"] or { [0] = "" } -- not HAProxy's own
    return core.httpclient():get({ url = question, headers = headers, timeout = MILLISECONDS })
end

core.register_action("gatewall", { "http-req" }, function(txn)
    local asked, answer = pcall(ask, txn)
    if not asked or answer == nil then
        return refuse(txn, 503)
    end
    if PASSED_ON[answer.status] then
        return refuse(txn, answer.status, answer)
    end
    if answer.status ~= 200 then
        return refuse(txn, 503)
    end
    for _, name in ipairs(IDENTITY) do
        replace(txn, answer, name)
    end
    replace(txn, answer, "cookie")
    replace(txn, answer, "authorization")
    for _, name in ipairs(CREDENTIALS) do
        txn.http:req_del_header(name)
    end
    txn:set_var("txn.gatewall_decision_id", said(answer, "x-gatewall-decision-id") or "")
    txn:set_var("txn.gatewall_yes", true)
end)
