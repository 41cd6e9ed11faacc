-- Records a stop for a run, or for a command whose receipt the client does not have yet.
-- KEYS: 1 head, 2 cancel, 3 keys, 4 keys2, 5 lease, 6 log
-- ARGV: 1 run ('' none), 2 command key ('' none), 3 who, 4 "tenant/session", 5 ms after which a stop for a key is void,
--       6 most stops for keys at a time
-- Result: {'accepted' | 'late' | 'unknown', run ('' while only the key is known), top id of the log}
-- Twice is safe: a second stop finds the first one's record, leaves it as it is and tells the owner again.
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
local record = string.format('%.0f', now) .. ' ' .. ARGV[3]
local h = redis.call('HMGET', KEYS[1], 'run', 'last')
local active, last = h[1] or '', h[2] or ''
local top = redis.call('XREVRANGE', KEYS[6], '+', '-', 'COUNT', 1)
local id = '0-0'
if top[1] then id = top[1][1] end

local run, accepted = ARGV[1], ARGV[1] ~= '' and ARGV[1] == last
if run == '' then
  local known = redis.call('HGET', KEYS[3], ARGV[2]) or redis.call('HGET', KEYS[4], ARGV[2])
  if known then
    run, accepted = string.match(known, '^%S+') or '', true
    if string.sub(run, 1, 1) == '-' then return {'late', '', id} end -- an edit without a run is done
  end
end

if run ~= '' then
  if run ~= active then
    if accepted then return {'late', run, id} end
    return {'unknown', run, id}
  end
  redis.call('HDEL', KEYS[1], '-') -- a run can be stopped while memory is full: at most one record per session
  redis.call('HSETNX', KEYS[2], run, record)
  redis.call('PERSIST', KEYS[2]) -- it lasts as long as the run
  local node = redis.call('HGET', KEYS[5], 'node')
  if node and node ~= '' then
    redis.pcall('PUBLISH', 'hf1:{node:' .. node .. '}:wake', 'stop ' .. ARGV[4] .. ' ' .. run)
  end
  return {'accepted', run, id}
end

-- Only the key is known. Void records go first, so that keys which never come cannot pile up.
local live, field = 0, 'k:' .. ARGV[2]
local all = redis.call('HGETALL', KEYS[2])
for i = 1, #all, 2 do
  if string.sub(all[i], 1, 2) == 'k:' then
    local at = tonumber(string.match(all[i + 1], '^%d+') or '0')
    if now - at >= tonumber(ARGV[5]) then
      redis.call('HDEL', KEYS[2], all[i])
    elseif all[i] ~= field then
      live = live + 1
    end
  end
end
if live >= tonumber(ARGV[6]) then return {'unknown', '', id} end
redis.call('HSETNX', KEYS[2], field, record)
if active == '' or redis.call('HEXISTS', KEYS[2], active) == 0 then redis.call('EXPIRE', KEYS[2], 86400) end
return {'accepted', '', id}
