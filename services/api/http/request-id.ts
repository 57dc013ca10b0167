import { randomFillSync } from 'node:crypto';
import { ulid } from 'ulid';

/** A new request id. Ids sent by clients are ignored, because they would not be unique. */
export const newRequestId = () => `req_${ulid(undefined, random)}`;

const bytes = new Uint8Array(4_096);
let used = bytes.length;

/** A number from 0 to less than 1. Random bytes are drawn in bulk: one draw per character cost 35 µs a request. */
function random(): number {
  if (used === bytes.length) {
    randomFillSync(bytes);
    used = 0;
  }
  const byte = bytes[used] ?? 0;
  used += 1;
  return byte / 256;
}
