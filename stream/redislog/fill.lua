-- Adds a piece of a list to a session that does not exist yet: an import too long for one call. It stays invisible until a change
-- writes the head's version.
-- KEYS: 1 head, 2 list (rows or ctx)
-- ARGV: 1 incarnation, 2 epoch, 3 how many elements lie before this piece, 4.. elements
-- Result: {'done'}, {'fenced', epoch}, {'conflict', reason}
-- Twice is safe: a piece that is there already (the length says so) is not added again; the first piece begins the list anew.
local h = redis.call('HMGET', KEYS[1], 'inc', 'epoch', 'ver')
if (h[1] or '') ~= ARGV[1] or (h[2] or '') ~= ARGV[2] then return {'fenced', h[2] or ''} end
if (h[3] or '0') ~= '0' then return {'conflict', 'session exists'} end
local before, count = tonumber(ARGV[3]) or 0, #ARGV - 3
if before == 0 then redis.call('DEL', KEYS[2]) end
local have = redis.call('LLEN', KEYS[2])
if have == before + count then return {'done'} end
if have ~= before then return {'conflict', 'length'} end
for i = 4, #ARGV do redis.call('RPUSH', KEYS[2], ARGV[i]) end
return {'done'}
