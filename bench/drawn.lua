-- For wrk: requests with the cookies of a file, one after the other.
--
--     wrk -s bench/drawn.lua URL -- COOKIE FILE
--
-- FILE has a token a line, in the order in which they are to be sent.

local requests, order, at = {}, {}, 0

function init(args)
    local known = {}

    for token in io.lines(args[2]) do
        if not known[token] then
            wrk.headers["Cookie"] = args[1] .. "=" .. token
            requests[#requests + 1] = wrk.format()
            known[token] = #requests
        end

        order[#order + 1] = known[token]
    end
end

function request()
    at = at % #order + 1

    return requests[order[at]]
end
