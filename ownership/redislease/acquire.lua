-- Grants the lease of one session and raises its epoch.
--
-- KEYS  1 lease  2 head  3 log  4 keys  5 keys2
-- ARGV  1 node  2 process  3 ttl (ms)  4 request id  5 highest epoch seen  6 new incarnation
--       7 observed epoch of a busy lease ('' takes idle sessions only)  8 command key ('' none)  9 wake channel ('' none)
-- result  {'key', stored value}
--         {'held', node, process, epoch, until, run, now}
--         {'corrupt', epoch}  no higher epoch can be written exactly
--         {'granted', epoch, incarnation, seq, fresh ('1' or ''), run, previous epoch, previous node, now}
--
-- Twice is safe: the same request id, node and process under an unchanged epoch gives the same grant and only prolongs the lease. All
-- reading and deciding comes before the first write. Numbers stay below 2^53 and leave through string.format.
local function num(v) return tonumber(v or '') or 0 end
local function int(n) return string.format('%.0f', n) end
local lease, head, log = KEYS[1], KEYS[2], KEYS[3]
local node, proc, ttl, req = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]

local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
local had = redis.call('EXISTS', lease) == 1
local l = redis.call('HMGET', lease, 'node', 'proc', 'epoch', 'until', 'ttl', 'req', 'fresh', 'pepoch', 'pnode')
local h = redis.call('HMGET', head, 'inc', 'epoch', 'seq', 'run', 'fences')
local top = redis.call('XREVRANGE', log, '+', '-', 'COUNT', 1)
local lnode, lproc, lepoch, run = l[1] or '', l[2] or '', l[3] or '', h[4] or ''

if ARGV[8] ~= '' then
  local v = redis.call('HGET', KEYS[4], ARGV[8]) or redis.call('HGET', KEYS[5], ARGV[8])
  if v then return {'key', v} end
end

if l[6] == req and lnode == node and lproc == proc and h[2] and h[2] == lepoch then
  redis.call('HDEL', lease, '-')
  redis.call('HSET', lease, 'until', int(now + ttl))
  return {'granted', lepoch, h[1] or '', h[3] or '0', l[7] or '', run, l[8] or '0', l[9] or '', int(now)}
end

local mine = lnode == '' or (lnode == node and lproc == proc)
if run ~= '' and not mine then
  local till = num(l[4])
  local far = now + num(l[5])
  if num(l[5]) > 0 and till > far then
    -- Only a step back of the clock puts a deadline so far away; without the cut a dead owner would be busy for all of it.
    redis.call('HDEL', lease, '-')
    redis.call('HSET', lease, 'until', int(far))
    till = far
  end
  if till > now or ARGV[7] == '' or ARGV[7] ~= lepoch then
    return {'held', lnode, lproc, lepoch, int(till), run, int(now)}
  end
end

local tope, seq = 0, num(h[3])
if top[1] then
  local e, s = string.match(top[1][1], '^(%d+)-(%d+)$')
  tope, seq = tonumber(e), tonumber(s)
end
local epoch = math.max(num(lepoch) + 1, num(h[2]) + 1, tope + 1, now, num(ARGV[5]) + 1)
if epoch >= 9007199254740992 then return {'corrupt', int(epoch)} end
local E, inc, fresh, fences = int(epoch), h[1], '', h[5] or ''
local first = int(seq + 1)

-- The first write decides what happens when memory is full: taking over must work, a new session need not.
if had then redis.call('HDEL', lease, '-') end
redis.call('XADD', log, E .. '-' .. int(seq), 'm', '')

if not inc or not top[1] then
  -- A log without its head, a head without its log, or neither: a new life. Nothing before the marker belongs to it.
  inc, fresh, fences = ARGV[6], '1', ''
  redis.call('HSET', head, 'inc', inc, 'before', E .. '-' .. int(seq))
  if not h[1] then redis.call('HSET', head, 'ver', '0', 'rver', '0') end
end
-- One fence per first seq: an epoch that wrote nothing leaves none.
local rest, last = string.match(fences, '^(.-),?%d+:(%d+)$')
if last == first then fences = rest end
if fences ~= '' then fences = fences .. ',' end
redis.call('HSET', head, 'epoch', E, 'batch', '0', 'seq', int(seq), 'fences', fences .. E .. ':' .. first)
local pepoch = lepoch ~= '' and lepoch or '0'
redis.call('HSET', lease, 'node', node, 'proc', proc, 'epoch', E, 'until', int(now + ttl), 'ttl', int(ttl), 'req', req,
  'fresh', fresh, 'pepoch', pepoch, 'pnode', lnode)
redis.call('PERSIST', lease)
if ARGV[9] ~= '' then redis.pcall('PUBLISH', ARGV[9], 'w') end
return {'granted', E, inc, int(seq), fresh, run, pepoch, lnode, int(now)}
