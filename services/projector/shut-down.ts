import { closingSilentConnections } from '../../shared/kafka/silent-connections.ts';
import { within } from '../../shared/runtime/within.ts';
import type { RunningConsumer } from './consumer/consumer.ts';

/** How long a connection may be silent before it is closed, in milliseconds. kafkajs then tries a new one. */
const silentMs = 1_500;
/** How long the runs of loops in progress may take to end, in milliseconds. */
const loopsWithinMs = 3_000;
/** How long the clients may take to disconnect, in milliseconds. */
const disconnectWithinMs = 1_000;

type RunningParts = {
  loops: { stop: () => unknown }[];
  consumer: Pick<RunningConsumer, 'stop'>;
  /** Saves and commits the positions. */
  flush: () => Promise<void>;
  disconnect: () => Promise<unknown>;
};

/**
 * Stops a projector within the time that `main` gives it, even if a server is silent. Requests that still wait for an
 * answer then end with the process. That is safe, because every write can be repeated.
 */
export const shutDown = ({ loops, consumer, flush, disconnect }: RunningParts): Promise<void> =>
  closingSilentConnections(silentMs, async () => {
    await within(loopsWithinMs, Promise.all(loops.map((loop) => loop.stop())), () => undefined);
    await consumer.stop(flush);
    await within(disconnectWithinMs, disconnect(), () => undefined);
  });
