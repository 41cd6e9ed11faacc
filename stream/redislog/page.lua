-- Reads a part of a session's log together with its head.
-- KEYS: 1 head, 2 log
-- ARGV: 1 where XRANGE begins ('-' or '(<id>'), 2 most entries
-- Result: {'ok', head as a flat list, top id ('' none), entries as XRANGE gives them, at most one more than asked for}
-- Twice is safe: it writes nothing.
local id = ''
local top = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)
if top[1] then id = top[1][1] end
return {'ok', redis.call('HGETALL', KEYS[1]), id,
  redis.call('XRANGE', KEYS[2], ARGV[1], '+', 'COUNT', string.format('%.0f', tonumber(ARGV[2]) + 1))}
