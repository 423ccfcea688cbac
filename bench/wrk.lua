-- For wrk: the method, the cookies, and the numbers in a form that is read.
--
--     wrk -s bench/wrk.lua URL -- METHOD [FILE LAW]
--
-- FILE has the value of a Cookie header a line.  Each request carries one of
-- them, drawn uniformly or by zipf's law.  Requests are made beforehand and
-- taken from a list that is long beside their number.

local draws = 65536
local requests, order, at = {}, {}, 0

local function choose(n, law)
    local sum, upto = 0, {}

    for i = 1, n do
        sum = sum + (law == "zipf" and 1 / i or 1)
        upto[i] = sum
    end

    math.randomseed(os.time())

    return function()
        local x, low, high = math.random() * sum, 1, n

        while low < high do
            local middle = math.floor((low + high) / 2)

            if upto[middle] < x then
                low = middle + 1
            else
                high = middle
            end
        end

        return low
    end
end

-- The text of a request in front of its cookie and behind it.
--
-- Lua keeps each text once and finds it by a hash of only some bytes: those in
-- the middle are the ones that can differ.  So headers are put where the
-- middle comes to lie in the last part of the cookie; else tens of thousands
-- of texts have one hash, and making them takes half a minute.

local function around(cookie)
    local first = wrk.method .. " " .. wrk.path .. " HTTP/1.1\r\n"
    local others = {}

    for name, value in pairs(wrk.headers) do
        local line = name .. ": " .. value .. "\r\n"

        if name == "Host" then
            first = first .. line
        else
            others[#others + 1] = line
        end
    end

    table.sort(others)

    local least, before, behind

    for choice = 0, 2 ^ #others - 1 do
        local front, back = first, ""

        for i = 1, #others do
            if math.floor(choice / 2 ^ (i - 1)) % 2 == 1 then
                front = front .. others[i]
            else
                back = back .. others[i]
            end
        end

        front = front .. "Cookie: "
        back = "\r\n" .. back .. "\r\n"

        local middle = (#front + #cookie + #back) / 2
        local off = math.abs(#front + #cookie * 0.75 - middle)

        if not least or off < least then
            least, before, behind = off, front, back
        end
    end

    return before, behind
end

local function vary(file, law)
    local cookies = {}

    for line in io.lines(file) do
        cookies[#cookies + 1] = line
    end

    local draw = choose(#cookies, law)
    local before, behind = around(cookies[1])

    for i = 1, draws do
        local n = draw()

        requests[n] = requests[n] or before .. cookies[n] .. behind
        order[i] = n
    end

    -- wrk asks for requests one by one only where there is such a function
    function request()
        at = at % draws + 1

        return requests[order[at]]
    end
end

function init(args)
    wrk.method = args[1]

    if args[2] then
        vary(args[2], args[3])
    end
end

function done(summary, latency)
    local e = summary.errors

    io.write(string.format(
        "requests=%d bytes=%d us=%d refused=%d broken=%d p50=%d p99=%d\n",
        summary.requests, summary.bytes, summary.duration, e.status,
        e.connect + e.read + e.write + e.timeout,
        latency:percentile(50), latency:percentile(99)))
end
