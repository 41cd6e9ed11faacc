-- Gives a lease back. The record stays, so that its epoch is never handed out again.
--
-- KEYS  1 lease  2 head  3 log
-- ARGV  1 node  2 process  3 epoch  4 life of the lease of a session that never came into being (s)
-- result  {'released'} or {'stale'} (another holder, or released before: nothing written)
--
-- A session that was acquired and never accepted anything leaves no head and no log behind, and its lease ages away.
-- Twice is safe: the second finds another node and does nothing.
local l = redis.call('HMGET', KEYS[1], 'node', 'proc', 'epoch')
if l[1] ~= ARGV[1] or l[2] ~= ARGV[2] or l[3] ~= ARGV[3] then return {'stale'} end
local h = redis.call('HMGET', KEYS[2], 'ver', 'epoch')
redis.call('HDEL', KEYS[1], '-')
redis.call('HSET', KEYS[1], 'node', '', 'until', '0')
if (h[1] or '0') == '0' and (not h[2] or h[2] == ARGV[3]) then
  redis.call('DEL', KEYS[2], KEYS[3])
  redis.call('EXPIRE', KEYS[1], ARGV[4])
end
return {'released'}
