import { defineScript, type CommandParser } from '@redis/client';

/**
 * What the shared store runs for one request, atomically: a sorted set of the instants counted, in
 * microseconds of the store's own clock, so that the clocks of replicas do not matter. `KEYS[1]` is the key;
 * `ARGV` are the window in seconds and the limit. Answers how many are counted, one above the limit when the
 * request was refused, and the milliseconds until the oldest leaves the window. The set goes with its youngest
 * member. Needs Redis 6, or any Valkey.
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
