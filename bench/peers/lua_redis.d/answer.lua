-- The check of lua_tuned, then one GET over a connection from the pool.

local redis = require "nginx.redis"
local check = require "check"

local exit = ngx.exit


return function()
    local id = check.id()

    if not id then
        return exit(401)
    end

    local red = redis:new()

    red:set_timeout(1000)

    local ok = red:connect(ngx.var.redis)
    local user = ok and red:get(id)

    if not user then
        return exit(503)
    end

    red:set_keepalive(600000, 64)

    if user == ngx.null then
        return exit(401)
    end

    return check.page()
end
