-- Adds sessions to a node's index.
--
-- KEYS  1 index of the node
-- ARGV  sessions
-- result  {'added'}
--
-- A script, because a bare SADD is refused when memory is full, and then nothing could be taken over. Twice is safe: it is a set.
redis.call('SREM', KEYS[1], '')
for _, key in ipairs(ARGV) do redis.call('SADD', KEYS[1], key) end
return {'added'}
