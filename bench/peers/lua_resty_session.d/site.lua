-- A page behind lua-resty-session.  A session is opened and not touched: its
-- touch would be a new cookie for the browser, once a minute.

local ffi = require "ffi"
local session = require "resty.session"

local C = ffi.C
local header = ngx.header

ffi.cdef [[
int RAND_bytes(unsigned char *buf, int num);
]]

local day = 86400
local random = ffi.new("unsigned char[4096]")
local used = 4096
local rows = {}
local body, length, before, after


local function slurp(name)
    local file = assert(io.open(name, "rb"))
    local text = file:read("*a")

    file:close()

    return text
end


local function prepare(data)
    local key = slurp(data .. "/key"):gsub("%s", ""):gsub("%x%x",
        function(hex) return string.char(tonumber(hex, 16)) end)

    session.init({
        ikm = key,
        storage = "shm",
        shm = { zone = "sessions" },
        idling_timeout = day,
        rolling_timeout = day,
        absolute_timeout = day,
    })

    for line in io.lines(data .. "/sessions.tsv") do
        rows[#rows + 1] = line
    end

    body = slurp(data .. "/body")
    length = #body

    for line in io.lines(data .. "/headers") do
        local left, right = line:match("^[^:]+: (.*)NONCE(.*)$")

        if left then
            before, after = left, right
        end
    end
end


-- One session for each of some rows, and its cookie as the library writes it.
-- nginx looks through all headers that a request has had, so not all at once.

local function tokens()
    local first = tonumber(ngx.var.arg_first)
    local cookies = {}

    for at = first, math.min(first + 499, #rows) do
        local made = session.new()

        made:set("user", rows[at]:match("\t(.*)$"))
        assert(made:save())

        cookies[#cookies + 1] = header["Set-Cookie"]:match("^[^;]+") .. "\n"
        header["Set-Cookie"] = nil
    end

    ngx.print(cookies)
end


local function nonce()
    if used == 4096 then
        assert(C.RAND_bytes(random, 4096) == 1)
        used = 0
    end

    used = used + 16

    return ngx.encode_base64(ffi.string(random + used - 16, 16))
end


local function answer()
    local opened, _, exists = session.open()

    if not exists or not opened:get("user") then
        return ngx.exit(401)
    end

    header["Content-Length"] = length
    header["Content-Security-Policy"] = before .. nonce() .. after

    return ngx.print(body)
end


return { prepare = prepare, tokens = tokens, answer = answer }
