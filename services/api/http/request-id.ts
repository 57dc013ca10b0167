import { ulid } from 'ulid';

/**
 * A new request id. The API ignores ids from clients, because two clients may send the same one. An id need not be
 * secret: random numbers from `crypto`, one for each character, would cost 35 µs a request.
 */
export const newRequestId = () => `req_${ulid(undefined, Math.random)}`;
