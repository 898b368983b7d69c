local counts, n = {}, 0
for line in io.lines("words.txt") do
    for w in line:gmatch("%a+") do
        if not counts[w] then n = n + 1 end
        counts[w] = (counts[w] or 0) + 1
    end
end
local parts = {}
for i = 1, 20000 do parts[#parts + 1] = tostring(i * i) end
print(n, #table.concat(parts, " "))
