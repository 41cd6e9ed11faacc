-- Applies one change of a session: an acceptance, a settlement, both, or an edit. All or nothing: every comparison comes before
-- the first write.
-- KEYS: 1 head, 2 log, 3 rows, 4 ctx, 5 doc, 6 var, 7 cancel, 8 keys, 9 keys2
-- ARGV: 1 inc, 2 epoch, 3 batch, 4 top id before, 5 version before, 6 rows before, 7 ctx before,
--       8 run to settle ('' none), 9 '1': it settles as cancelled, 10 run to accept ('' none; '-' an edit without a run;
--       '+' one that passes while a run is active), 11 its command key, 12 value for it,
--       13 tail seq afterwards, 14 version afterwards ('' the document stays), 15 rows version, 16 revision, 17 active run,
--       18 its record, 19 its start ('' keep), 20 trim to this id ('' no trim), 21 id before the first kept entry, 22 fences,
--       23 wake channel ('' nobody listens), 24 most bytes of copies in a wake, 25 ms after which a stop for a key is void,
--       26 entries, 27 rows to keep ('-1' no cut), 28 last kept row ('' as it is), 29 rows to append,
--       30 ctx to keep, 31 last kept element, 32 elements to append, 33 fields to set, 34 to unset, 35 variants to set, 36 to unset,
--       37 copies that go before this change's in the wake;
--       then the values: id kind data per entry, rows, ctx, field value pairs, fields, variant value pairs, variants
-- Result: {'done', '1' if the accepted run is stopped already} | {'known', value, '1' if its run is stopped} | {'fenced', epoch} |
--         {'repeat'} | {'conflict', what} | {'notowner', active run} | {'stopped'} | {'busy', active run}
-- Twice is safe: a batch number is applied once; the same batch again is a 'repeat', or 'known' where it accepted a command.
local settle, accept = ARGV[8], ARGV[10]
local h = redis.call('HMGET', KEYS[1], 'inc', 'epoch', 'batch', 'ver', 'run')
local active = h[5] or ''

if accept ~= '' then
  local known = redis.call('HGET', KEYS[8], ARGV[11]) or redis.call('HGET', KEYS[9], ARGV[11])
  if known then
    local stopped = redis.call('HEXISTS', KEYS[7], string.match(known, '^%S+') or '')
    return {'known', known, stopped == 1 and '1' or ''}
  end
end
if not h[1] or not h[2] or h[1] ~= ARGV[1] or h[2] ~= ARGV[2] then return {'fenced', h[2] or ''} end

local batch, done = tonumber(ARGV[3]), tonumber(h[3] or false) or 0
if batch <= done then return {'repeat'} end
if batch ~= done + 1 then return {'conflict', 'batch'} end
local top = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)
if not top[1] then return {'conflict', 'log missing'} end
if top[1][1] ~= ARGV[4] then return {'conflict', 'position'} end
if (h[4] or '0') ~= ARGV[5] then return {'conflict', 'version'} end
if redis.call('LLEN', KEYS[3]) ~= tonumber(ARGV[6]) then return {'conflict', 'rows'} end
if redis.call('LLEN', KEYS[4]) ~= tonumber(ARGV[7]) then return {'conflict', 'context'} end

if settle ~= '' then
  if active ~= settle then return {'notowner', active} end
  if ARGV[9] ~= '1' and redis.call('HEXISTS', KEYS[7], settle) == 1 then return {'stopped'} end
elseif accept ~= '' and accept ~= '+' and active ~= '' then
  return {'busy', active}
end

-- From here on everything is written. The first write decides what happens when memory is full: a settlement leads with one that
-- is always allowed, everything else is refused whole.
if settle ~= '' and accept == '' then redis.call('HDEL', KEYS[1], '-') end
redis.call('HSET', KEYS[1], 'batch', ARGV[3], 'seq', ARGV[13])

local at = 38
local function take()
  at = at + 1
  return ARGV[at - 1]
end

local copies, size = {'c', ARGV[1], '\n', ARGV[37]}, 0
for _ = 1, tonumber(ARGV[26]) do
  local id, kind, data = take(), take(), take()
  redis.call('XADD', KEYS[2], id, kind, data)
  size = size + #data
  if ARGV[23] ~= '' and size <= tonumber(ARGV[24]) then
    for _, part in ipairs({id, ' ', kind, ' ', string.format('%.0f', #data), '\n', data}) do copies[#copies + 1] = part end
  end
end

local function list(key, keep, patch, count)
  if keep == 0 then
    redis.call('DEL', key) -- LTRIM 0 -1 would keep everything
  elseif keep > 0 then
    redis.call('LTRIM', key, 0, keep - 1)
  end
  if patch ~= '' then redis.call('LSET', key, -1, patch) end
  while count > 0 do
    local n = math.min(count, 1000) -- unpack has limits
    redis.call('RPUSH', key, unpack(ARGV, at, at + n - 1))
    at, count = at + n, count - n
  end
end
list(KEYS[3], tonumber(ARGV[27]), ARGV[28], tonumber(ARGV[29]))
list(KEYS[4], tonumber(ARGV[30]), ARGV[31], tonumber(ARGV[32]))

for i, key in ipairs({KEYS[5], KEYS[6]}) do
  for _ = 1, tonumber(ARGV[31 + 2 * i]) do
    local field = take()
    redis.call('HSET', key, field, take())
  end
  for _ = 1, tonumber(ARGV[32 + 2 * i]) do redis.call('HDEL', key, take()) end
end

if ARGV[14] ~= '' then
  redis.call('HSET', KEYS[1], 'ver', ARGV[14], 'rver', ARGV[15], 'rev', ARGV[16], 'run', ARGV[17], 'active', ARGV[18])
  if ARGV[19] ~= '' or ARGV[17] == '' then redis.call('HSET', KEYS[1], 'start', ARGV[19]) end
end
if ARGV[20] ~= '' then
  redis.call('XTRIM', KEYS[2], 'MINID', '=', ARGV[20])
  redis.call('HSET', KEYS[1], 'before', ARGV[21], 'fences', ARGV[22])
end
if settle ~= '' then
  redis.call('HSET', KEYS[1], 'last', settle)
  redis.call('HDEL', KEYS[7], settle)
end

local stopped = ''
if accept ~= '' then
  if redis.call('HLEN', KEYS[8]) >= 1000 then redis.call('RENAME', KEYS[8], KEYS[9]) end
  redis.call('HSET', KEYS[8], ARGV[11], ARGV[12])
  redis.call('EXPIRE', KEYS[8], 86400)
  redis.call('EXPIRE', KEYS[9], 86400)
  local field = 'k:' .. ARGV[11]
  local stop = redis.call('HGET', KEYS[7], field)
  if stop then
    local t = redis.call('TIME')
    local now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
    if #accept > 1 and now - tonumber(string.match(stop, '^%d+') or '0') < tonumber(ARGV[25]) then
      redis.call('HSET', KEYS[7], accept, stop)
      redis.call('PERSIST', KEYS[7])
      stopped = '1'
    end
    redis.call('HDEL', KEYS[7], field)
  end
end

if ARGV[23] ~= '' then
  if size > tonumber(ARGV[24]) or ARGV[26] == '0' then copies = {'w'} end
  redis.pcall('PUBLISH', ARGV[23], table.concat(copies)) -- a wake that fails must not fail what is written
end
return {'done', stopped}
