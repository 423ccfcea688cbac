-- For wrk: each request carries the cookie of another session.
--
--     wrk -s bench/tokens.lua URL -- COOKIE FILE uniform|zipf
--
-- FILE has a token a line.  Requests are made beforehand and drawn from a list
-- that is long beside their number.

local draws = 65536
local requests, order, at = {}, {}, 0

function init(args)
    local sum, upto = 0, {}

    for token in io.lines(args[2]) do
        wrk.headers["Cookie"] = args[1] .. "=" .. token
        requests[#requests + 1] = wrk.format()
    end

    for i = 1, #requests do
        sum = sum + (args[3] == "zipf" and 1 / i or 1)
        upto[i] = sum
    end

    math.randomseed(1)

    for i = 1, draws do
        local x, low, high = math.random() * sum, 1, #requests

        while low < high do
            local middle = math.floor((low + high) / 2)

            if upto[middle] < x then
                low = middle + 1
            else
                high = middle
            end
        end

        order[i] = low
    end
end

function request()
    at = at % draws + 1

    return requests[order[at]]
end
