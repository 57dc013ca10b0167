import { ulid } from 'ulid';

/**
 * A new request id. Ids sent by clients are ignored, because they would not be unique. An id is no secret: the random
 * numbers of `crypto`, one for each character, would cost 35 µs a request.
 */
export const newRequestId = () => `req_${ulid(undefined, Math.random)}`;
