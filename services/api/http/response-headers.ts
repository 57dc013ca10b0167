import type { Views } from '../store/view.ts';
import { isPublic } from './public-paths.ts';
import type { Step } from './request-state.ts';

/**
 * Headers of every response. `Data-As-Of` starts as the last watermark that this replica has seen, which is
 * true of any later read; authentication replaces it by that of the request's own view.
 */
export const responseHeaders =
  ({ views }: { views: Pick<Views, 'lastDataAsOf'> }): Step =>
  (context, next) => {
    context.set('Cache-Control', 'private, no-cache');
    context.set('X-Content-Type-Options', 'nosniff');
    if (!isPublic(context.path)) context.set('Data-As-Of', views.lastDataAsOf().toISOString());
    return next();
  };
