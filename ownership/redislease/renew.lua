-- Prolongs leases, each on its own.
--
-- KEYS  per lease: lease, cancel
-- ARGV  per lease: node, process, epoch, ttl (ms), active run ('' none)
-- result  {'renewed', then per lease: status, number, stop}
--         status 'ok' (number: new deadline), 'lost' (number: the store's epoch), 'gone' (number '0'); stop '1' when a stop for
--         the run is recorded, else ''
--
-- It asks for the epoch, never for the clock: a late renewal that finds the same epoch proves that nobody came between. It makes no
-- record anew. Twice is safe: the second prolongs from a later now.
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
local out = {'renewed'}
for i = 1, #KEYS / 2 do
  local lease, cancel, a = KEYS[2 * i - 1], KEYS[2 * i], 5 * (i - 1)
  local node, proc, epoch, ttl, run = ARGV[a + 1], ARGV[a + 2], ARGV[a + 3], tonumber(ARGV[a + 4]), ARGV[a + 5]
  -- Frees nothing and is always allowed: with it first, the rest works when memory is full.
  redis.call('HDEL', lease, '-')
  local l = redis.call('HMGET', lease, 'node', 'proc', 'epoch')
  local status, number = 'lost', l[3] or '0'
  if l[1] == node and l[2] == proc and l[3] == epoch then
    status, number = 'ok', string.format('%.0f', now + ttl)
    redis.call('HSET', lease, 'until', number)
  elseif not l[3] or (tonumber(l[3]) or 0) < tonumber(epoch) then
    status, number = 'gone', '0'
  end
  local stop = ''
  if run ~= '' and redis.call('HEXISTS', cancel, run) == 1 then stop = '1' end
  out[#out + 1] = status
  out[#out + 1] = number
  out[#out + 1] = stop
end
return out
