-- Reads what an owner compares before it trusts an append again: who owns the session, and the last two ids of its log. The top
-- alone proves nothing, because it may already stand behind a hole.
-- KEYS: 1 head, 2 log
-- ARGV: none
-- Result: {'ok', inc, epoch, ver, batch, run, top id, top kind, id before it, its kind}; what is missing is ''
-- Twice is safe: it writes nothing.
local out = {'ok'}
local h = redis.call('HMGET', KEYS[1], 'inc', 'epoch', 'ver', 'batch', 'run')
for i = 1, 5 do out[i + 1] = h[i] or '' end
local last = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 2)
for i = 1, 2 do
  out[5 + 2 * i], out[6 + 2 * i] = '', ''
  if last[i] then out[5 + 2 * i], out[6 + 2 * i] = last[i][1], last[i][2][1] end
end
return out
