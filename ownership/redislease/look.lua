-- Reads a lease and the session's active run; cuts a deadline that lies too far away, if told to.
--
-- KEYS  1 lease  2 head
-- ARGV  1 '1' to cut a deadline further away than the lease's ttl to now + ttl, '' to write nothing
-- result  {'lease', node, process, epoch, until, ttl (ms), run, now}
--
-- Twice is safe: a deadline that was cut is not too far away any more.
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
local l = redis.call('HMGET', KEYS[1], 'node', 'proc', 'epoch', 'until', 'ttl')
local run = redis.call('HGET', KEYS[2], 'run') or ''
local till, ttl = l[4] or '0', tonumber(l[5] or '') or 0
if ARGV[1] == '1' and ttl > 0 and (tonumber(till) or 0) > now + ttl then
  till = string.format('%.0f', now + ttl)
  redis.call('HDEL', KEYS[1], '-')
  redis.call('HSET', KEYS[1], 'until', till)
end
return {'lease', l[1] or '', l[2] or '', l[3] or '0', till, string.format('%.0f', ttl), run, string.format('%.0f', now)}
