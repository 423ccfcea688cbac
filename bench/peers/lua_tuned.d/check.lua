-- The session check with nothing computed twice: both SHA-256 states of the
-- HMAC's key are prepared, buffers are reused, text is encoded two characters
-- at a time, and what does not change from request to request is left to
-- nginx's own configuration.

local ffi = require "ffi"

local C = ffi.C
local band, bor = bit.band, bit.bor
local lshift, rshift = bit.lshift, bit.rshift
local cast, copy, str = ffi.cast, ffi.copy, ffi.string
local byte, sub = string.byte, string.sub
local exit, header, print, var = ngx.exit, ngx.header, ngx.print, ngx.var

ffi.cdef [[
typedef struct {
    uint32_t      h[8];
    uint32_t      length[2];
    uint32_t      data[16];
    unsigned int  num, md_len;
} peer_sha256_t;

int SHA256_Init(peer_sha256_t *c);
int SHA256_Update(peer_sha256_t *c, const void *data, size_t len);
int SHA256_Final(unsigned char *md, peer_sha256_t *c);
int CRYPTO_memcmp(const void *a, const void *b, size_t len);
int RAND_bytes(unsigned char *buf, int num);
]]

local ID, DIGEST, MAC, NONCE, DRAWN = 22, 32, 43, 16, 4096
local STATE = ffi.sizeof("peer_sha256_t")
local chars = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

local inner = ffi.new("peer_sha256_t")
local outer = ffi.new("peer_sha256_t")
local state = ffi.new("peer_sha256_t")
local digest = ffi.new("uint8_t[?]", DIGEST + 1)
local mac = ffi.new("uint16_t[?]", 22)
local random = ffi.new("uint8_t[?]", DRAWN)
local used = DRAWN
local const = ffi.typeof("const uint8_t *")

-- Where they are elsewhere, in Redis say, there is no dict.
local sessions = ngx.shared.sessions

local body, length, csp, csp_length, csp_nonce


-- Two characters for each value of 12 bits.

local function pairs_of(alphabet)
    local pairs12 = ffi.new("uint16_t[4096]")

    for i = 0, 4095 do
        local high = byte(alphabet, rshift(i, 6) + 1)
        local low = byte(alphabet, band(i, 63) + 1)

        pairs12[i] = bor(high, lshift(low, 8))
    end

    return pairs12
end


local url, plain = pairs_of(chars .. "-_"), pairs_of(chars .. "+/")


-- Encodes len bytes, a multiple of three, to two pairs for each three.

local function encode(pairs12, from, to, len)
    local n = 0

    for i = 0, len - 1, 3 do
        local bits = bor(lshift(from[i], 16), lshift(from[i + 1], 8),
                         from[i + 2])

        to[n] = pairs12[rshift(bits, 12)]
        to[n + 1] = pairs12[band(bits, 4095)]
        n = n + 2
    end
end


local function pad(context, key, with)
    local block = ffi.new("uint8_t[64]", with)

    for i = 0, 63 do
        block[i] = bit.bxor(with, i < #key and byte(key, i + 1) or 0)
    end

    C.SHA256_Init(context)
    C.SHA256_Update(context, block, 64)
end


local function slurp(name)
    local file = assert(io.open(name, "rb"))
    local text = file:read("*a")

    file:close()

    return text
end


local function prepare(data)
    local key = slurp(data .. "/key"):gsub("%s", ""):gsub("%x%x",
        function(hex) return string.char(tonumber(hex, 16)) end)

    pad(inner, key, 0x36)
    pad(outer, key, 0x5c)

    for line in io.lines(sessions and data .. "/sessions.tsv" or "/dev/null") do
        assert(sessions:safe_set(line:match("^([^\t]+)\t(.*)$")))
    end

    body = slurp(data .. "/body")
    length = #body

    for line in io.lines(data .. "/headers") do
        local before, after = line:match("^[^:]+: (.*)NONCE(.*)$")

        if before then
            csp_length = #before + 24 + #after
            csp_nonce = #before
            csp = ffi.new("uint8_t[?]", csp_length)
            copy(csp, before .. ("="):rep(24) .. after, csp_length)
        end
    end
end


-- 16 bytes are no multiple of three, so two zero bytes follow them; of the 24
-- characters the last two are the padding that stands in csp for good.

local drawn = ffi.new("uint8_t[?]", 18)
local nonce = ffi.new("uint16_t[?]", 12)

local function content_security_policy()
    if used == DRAWN then
        assert(C.RAND_bytes(random, DRAWN) == 1)
        used = 0
    end

    copy(drawn, random + used, NONCE)
    used = used + NONCE

    encode(plain, drawn, nonce, 18)
    copy(csp + csp_nonce, nonce, 22)

    return str(csp, csp_length)
end


local function is_ours(cookie)
    local text = cast(const, cookie)

    copy(state, inner, STATE)
    C.SHA256_Update(state, text, ID)
    C.SHA256_Final(digest, state)

    copy(state, outer, STATE)
    C.SHA256_Update(state, digest, DIGEST)
    C.SHA256_Final(digest, state)

    encode(url, digest, mac, DIGEST + 1)

    return C.CRYPTO_memcmp(mac, text + ID + 1, MAC) == 0
end


-- The id in a well signed cookie, or nothing.

local function id()
    local cookie = var.cookie_session

    if not cookie or #cookie ~= ID + 1 + MAC or byte(cookie, ID + 1) ~= 46
       or not is_ours(cookie)
    then
        return nil
    end

    return sub(cookie, 1, ID)
end


local function page()
    header["Content-Length"] = length
    header["Content-Security-Policy"] = content_security_policy()

    return print(body)
end


local function answer()
    local session = id()

    if not session or not sessions:get(session) then
        return exit(401)
    end

    return page()
end


return { prepare = prepare, answer = answer, id = id, page = page }
