-- The session check as a good programmer writes it who has other things to
-- do: one call for each thing.

local ffi = require "ffi"

ffi.cdef [[
const void *EVP_sha256(void);
unsigned char *HMAC(const void *md, const void *key, int key_len,
    const unsigned char *data, size_t len, unsigned char *to,
    unsigned int *to_len);
int CRYPTO_memcmp(const void *a, const void *b, size_t len);
int RAND_bytes(unsigned char *buf, int num);
]]

local sessions = ngx.shared.sessions
local digest = ffi.new("unsigned char[32]")
local random = ffi.new("unsigned char[16]")
local sha256 = ffi.C.EVP_sha256()
local key
local M = {}


local function slurp(name)
    local file = assert(io.open(name, "rb"))
    local text = file:read("*a")

    file:close()

    return text
end


function M.prepare(data)
    key = slurp(data .. "/key"):gsub("%s", ""):gsub("%x%x",
        function(hex) return string.char(tonumber(hex, 16)) end)

    for line in io.lines(data .. "/sessions.tsv") do
        assert(sessions:safe_set(line:match("^([^\t]+)\t(.*)$")))
    end

    M.body = slurp(data .. "/body")

    for line in io.lines(data .. "/headers") do
        M.csp = line:match("^Content%-Security%-Policy: (.*)$") or M.csp
    end
end


local function mac(text)
    ffi.C.HMAC(sha256, key, #key, text, #text, digest, nil)

    local base64 = ngx.encode_base64(ffi.string(digest, 32), true)

    return (base64:gsub("[+/]", { ["+"] = "-", ["/"] = "_" }))
end


function M.user(cookie)
    local id, given = (cookie or ""):match("^([%w_-]+)%.([%w_-]+)$")

    if not id or #given ~= 43
       or ffi.C.CRYPTO_memcmp(mac(id), given, 43) ~= 0
    then
        return nil
    end

    return sessions:get(id)
end


function M.nonce()
    assert(ffi.C.RAND_bytes(random, 16) == 1)

    return ngx.encode_base64(ffi.string(random, 16))
end


return M
