-- Reads a session in one consistent step.
-- KEYS: 1 head, 2 doc, 3 rows, 4 ctx, 5 log, 6 keys, 7 keys2, 8 lease, 9 var
-- ARGV: 1 most elements of each list, 2 absolute index that the display window ends before ('0': the end; else the context
--       window stays empty), 3 command key ('' none), 4 '1': head alone, without the document;
--       then the ids of variants
-- Result: {'ok', head, doc, rows total, rows below, chain there, rows, ctx total, ctx below, chain there, ctx, top id, top kind,
--         value under the command key, lease, ms now, variants}; head, doc and lease are flat lists; what is missing is ''
-- Twice is safe: it writes nothing.
local function window(key, limit, stop)
  local total = redis.call('LLEN', key)
  if stop > total then stop = total end
  local below = math.max(0, stop - limit)
  local base, rows = '', {}
  if below > 0 then
    -- One extra element below the window, of which only the chain leaves.
    rows = redis.call('LRANGE', key, below - 1, math.max(below - 1, stop - 1))
    base = string.sub(table.remove(rows, 1), 1, 64)
  elseif stop > 0 then
    rows = redis.call('LRANGE', key, 0, stop - 1)
  end
  return total, below, base, rows
end

local head = redis.call('HGETALL', KEYS[1])
local limit, before = tonumber(ARGV[1]), tonumber(ARGV[2])
local doc, rows, ctx = {}, {}, {}
local rowsTotal, rowsBelow, rowsBase = redis.call('LLEN', KEYS[3]), 0, ''
local ctxTotal, ctxBelow, ctxBase = 0, 0, ''
if ARGV[4] ~= '1' then
  doc = redis.call('HGETALL', KEYS[2])
  local stop = rowsTotal
  if before > 0 then stop = before end
  rowsTotal, rowsBelow, rowsBase, rows = window(KEYS[3], limit, stop)
  local most = limit
  if before > 0 then most = 0 end
  ctxTotal, ctxBelow, ctxBase, ctx = window(KEYS[4], most, math.huge)
end

local topID, topKind = '', ''
local top = redis.call('XREVRANGE', KEYS[5], '+', '-', 'COUNT', 1)
if top[1] then topID, topKind = top[1][1], top[1][2][1] end

local known = ''
if ARGV[3] ~= '' then
  known = redis.call('HGET', KEYS[6], ARGV[3]) or redis.call('HGET', KEYS[7], ARGV[3]) or ''
end
local variants = {}
for i = 5, #ARGV do variants[i - 4] = redis.call('HGET', KEYS[9], ARGV[i]) or '' end
local t = redis.call('TIME')
local now = string.format('%.0f', tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000))
return {'ok', head, doc, rowsTotal, rowsBelow, rowsBase, rows, ctxTotal, ctxBelow, ctxBase, ctx, topID, topKind, known,
  redis.call('HGETALL', KEYS[8]), now, variants}
