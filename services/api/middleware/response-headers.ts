import type { Middleware } from '../http/context.ts';
import { commonHeaders } from '../http/headers.ts';
import { isPublic } from '../http/public.ts';
import type { ReadSnapshots } from '../store/read-snapshot.ts';

/**
 * Sets the headers of every response. `Data-As-Of` is first the last watermark that this replica has read.
 * `pinSnapshot` replaces it with the watermark of the request's own snapshot, unless an error, such as a missing key,
 * ends the request before.
 */
export const responseHeaders =
  ({ snapshots }: { snapshots: Pick<ReadSnapshots, 'lastDataAsOf'> }): Middleware =>
  (context, next) => {
    context.set(commonHeaders);
    if (!isPublic(context.path)) context.set('Data-As-Of', snapshots.lastDataAsOf().toISOString());
    return next();
  };
