-- Counts a node's heartbeat up and reads all of them.
--
-- KEYS  1 nodes
-- ARGV  1 node
-- result  {'beat', now, then per node: id, counter}
--
-- Twice is safe: a counter only has to move.
redis.call('HDEL', KEYS[1], '')
redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
local t = redis.call('TIME')
local out = {'beat', string.format('%.0f', tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000))}
for _, v in ipairs(redis.call('HGETALL', KEYS[1])) do out[#out + 1] = v end
return out
