import type { ServerResponse } from 'node:http';
import type { Context, RequestState } from './context.ts';
import { interruptResponse } from './interrupt.ts';

/** The time that a client has to take a response. Each 64 KB of the response adds a second. */
const takeMs = 60_000;
const takeMsPerByte = 1_000 / 65_536;

/** A response that its client has not taken yet. */
type TrackedResponse = {
  startedMs: number;
  res: ServerResponse;
  state: RequestState;
  /** Forgets the response. */
  end: () => void;
};

/** Disconnects clients that take their responses too slowly. */
export type SlowClients = {
  /** Tracks a response until it closes or its client is disconnected. Then it calls `onEnd`, once. */
  track: (context: Pick<Context, 'res' | 'state'>, onEnd: () => void) => void;
  /** Disconnects each client whose time has passed. */
  disconnect: () => void;
};

export function createSlowClients({ nowMs }: { nowMs: () => number }): SlowClients {
  const inProgress = new Set<TrackedResponse>();
  return {
    track: ({ res, state }, onEnd) => {
      const end = () => {
        if (inProgress.delete(entry)) onEnd();
      };
      const entry: TrackedResponse = { startedMs: nowMs(), res, state, end };
      inProgress.add(entry);
      res.once('close', end);
    },
    disconnect: () => {
      const atMs = nowMs();
      for (const { startedMs, res, state, end } of inProgress) {
        if (atMs - startedMs <= takeMs + state.responseBytes * takeMsPerByte) continue;
        end();
        interruptResponse(res);
      }
    },
  };
}
