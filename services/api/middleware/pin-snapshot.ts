import type { Counts } from '../counts.ts';
import type { Middleware } from '../http/context.ts';
import type { ReadSnapshots } from '../store/read-snapshot.ts';

type PinSnapshotDeps = {
  snapshots: Pick<ReadSnapshots, 'current'>;
  /** The requests in progress, by the generation that each of them reads. */
  generationsInUse: Pick<Counts<number>, 'begin'>;
};

/**
 * Takes the snapshot that the whole request is answered from, before any data is read. Until the response closes, the
 * request counts as a reader of its generation, so a drop waits for the request.
 */
export function pinSnapshot({ snapshots, generationsInUse }: PinSnapshotDeps): Middleware {
  return async (context, next) => {
    const { res, state } = context;
    const snapshot = await snapshots.current();
    // A closed response emits no further `close`, so this reader would never end, and a drop would wait forever.
    if (res.closed) return;
    res.once('close', generationsInUse.begin(snapshot.generation));
    context.set('Data-As-Of', snapshot.dataAsOf.toISOString());
    state.snapshot = snapshot;
    await next();
  };
}
