import { ulid } from 'ulid';
import type { RequestState, Step } from './request-state.ts';

/** A fresh id; those that clients send are not taken over, since they would not be unique. */
export const newRequestId = () => `req_${ulid()}`;

/** First of all: whatever happens next, the response carries the id. */
export const requestId: Step = (context, next) => {
  const id = newRequestId();
  const state: RequestState = {
    requestId: id,
    caller: null,
    view: null,
    route: null,
    pathId: undefined,
    errorCode: null,
    failure: null,
  };
  Object.assign(context.state, state);
  context.set('Request-Id', id);
  return next();
};
