local check = require "check"

if not check.user(ngx.var.cookie_session) then
    return ngx.exit(401)
end

local csp = check.csp:gsub("NONCE", check.nonce())

ngx.header.content_length = #check.body
ngx.header.content_security_policy = csp
ngx.print(check.body)
