import { defineScript, type CommandParser } from '@redis/client';

/**
 * The store runs this script atomically for each request. It keeps a sorted set of the counted instants, in microseconds
 * of the store's own clock, so the clocks of the replicas do not matter. The set expires with its newest member.
 *
 * `KEYS[1]` is the key; `ARGV` are the window in seconds and the limit. Returns the number of counted requests (limit + 1
 * if this one was refused) and the milliseconds until the oldest leaves the window. Needs Redis 6, or any Valkey.
 */
const script = `
local window, limit = tonumber(ARGV[1]) * 1000000, tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
local used = redis.call('ZCARD', KEYS[1])
if used < limit then
  local instant = now
  while redis.call('ZADD', KEYS[1], 'NX', instant, string.format('%.0f', instant)) == 0 do
    instant = instant + 1
  end
  redis.call('PEXPIRE', KEYS[1], window / 1000)
  used = used + 1
else
  used = limit + 1
end
local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
return { used, math.ceil((oldest[2] + window - now) / 1000) }
`;

export const slidingLog = defineScript({
  SCRIPT: script,
  NUMBER_OF_KEYS: 1,
  parseCommand: (parser: CommandParser, key: string, windowSeconds: number, limit: number) => {
    parser.pushKey(key);
    parser.push(String(windowSeconds), String(limit));
  },
  transformReply: ([used, resetMs]: [number, number]) => ({ used, resetMs }),
});
