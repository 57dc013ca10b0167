import type { ReadSnapshots } from '../store/read-snapshot.ts';
import { isPublic } from '../http/public-paths.ts';
import type { Middleware } from '../http/context.ts';

/**
 * Headers of every response. `Data-As-Of` starts as the last watermark that this replica has seen, which is
 * true of any later read; authentication replaces it by that of the request's own view.
 */
export const responseHeaders =
  ({ snapshots }: { snapshots: Pick<ReadSnapshots, 'lastDataAsOf'> }): Middleware =>
  (context, next) => {
    context.set('Cache-Control', 'private, no-cache');
    context.set('X-Content-Type-Options', 'nosniff');
    if (!isPublic(context.path)) context.set('Data-As-Of', snapshots.lastDataAsOf().toISOString());
    return next();
  };
