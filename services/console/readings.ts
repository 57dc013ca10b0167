import { LRUCache } from 'lru-cache';
import { errorMessage } from '../../shared/runtime/error-message.ts';
import { within } from '../../shared/runtime/within.ts';

/*
 * The console reads the servers for its pages. A shared reading serves all pages and clients. A reading that a client
 * chooses, by a filter or an id, counts against a limit and ends when no page waits for it.
 */

/**
 * The last value that the console has read, the time of that read, and the reason why there is no newer value.
 * `isLate`: a newer value is still being read, and a later request may get it.
 */
export type LastReading<T> = { value: T | null; at: Date | null; problem: string | null; isLate?: true };

/** Returns the value, at most `everyMs` old if the servers answer. Resolves within the deadline, and never rejects. */
type Reading<T> = () => Promise<LastReading<T>>;

/** A page waits at most this long for MongoDB and Kafka, in milliseconds. Then it shows the last known data. */
const deadlineMs = 3_000;
/** Reads are in progress for at most this part of the time, so the console makes a slow read less often. */
const busyPart = 1 / 5;

/** At most this many reads that clients choose are in progress. The console refuses further ones. */
const openMax = 10;
/** A read ends if no request has asked for it for this long, in milliseconds. A page asks again every three seconds. */
const abandonedAfterMs = 10_000;

/** A read in progress. A request calls `ask` when it begins to wait for the read. */
type OpenRead<T> = { result: Promise<T>; ask: () => void };

/** Begins a read, whose signal aborts once no request asks for it. Throws if too many reads are in progress. */
type BeginRead = <T>(work: (signal: AbortSignal) => Promise<T>) => OpenRead<T>;

/**
 * Bounds the reads in progress, however fast clients come and go. A read for which no request has asked for ten seconds
 * is ended by its signal.
 */
export function createOpenReads(afterMs = abandonedAfterMs): BeginRead {
  let open = 0;
  return (work) => {
    if (open >= openMax) throw new Error('The console is busy. Try again.');
    open += 1;
    const controller = new AbortController();
    const abandon = () => controller.abort(new Error('no page waits for this any more'));
    const timer = setTimeout(abandon, afterMs).unref();
    const result = work(controller.signal).finally(() => {
      open -= 1;
      clearTimeout(timer);
    });
    return { result, ask: () => timer.refresh() };
  };
}

type ReadingOptions = {
  /** Requests share a value for this long, in milliseconds. With 0, only requests that wait for the same read do. */
  everyMs: number;
  waitMs?: number;
  /** The servers that a read asks. */
  servers?: string;
  nowMs?: () => number;
};

/**
 * Creates a reading that all pages and clients share: a request reads again if the value is older than `everyMs`, and
 * two reads never run together. `read` receives the previous value, against which it computes rates.
 */
export function createReading<T>(
  read: (previous: T | null) => Promise<T>,
  { everyMs, waitMs = deadlineMs, servers = 'MongoDB', nowMs = () => performance.now() }: ReadingOptions,
): Reading<T> {
  let known: LastReading<T> = { value: null, at: null, problem: null };
  let reading: Promise<void> | null = null;
  /** When the value becomes too old; null before the first read. */
  let staleMs: number | null = null;
  const refresh = async () => {
    const startMs = nowMs();
    try {
      known = { value: await read(known.value), at: new Date(), problem: null };
      staleMs = nowMs() + Math.max(everyMs, (nowMs() - startMs) / busyPart);
    } catch (error) {
      known = { ...known, problem: problemText(error) };
      staleMs = nowMs() + everyMs;
    }
    reading = null;
  };
  return async () => {
    const isFresh = staleMs !== null && nowMs() < staleMs;
    if (reading || !isFresh) {
      reading ??= refresh();
      const finished = reading.then(() => false);
      const isLate = await within(waitMs, finished, () => true);
      const silence = `${servers} has not answered for ${waitMs / 1_000} s`;
      if (isLate) return { ...known, problem: known.problem ?? silence, isLate };
    }
    // The next request reads again. Only a value that came late for every request is kept for it.
    if (everyMs === 0) staleMs = null;
    return known;
  };
}

/**
 * Creates a reading for each query, which is plain JSON. Keeps those in progress, and the 20 others that were used
 * last. A query that is refused replaces none of them.
 */
export function createReadings<Query, T>(
  begin: BeginRead,
  read: (query: Query, signal: AbortSignal) => Promise<T>,
  options: ReadingOptions,
): (query: Query) => Promise<LastReading<T>> {
  const open = new Map<string, Reading<T>>();
  const finished = new LRUCache<string, Reading<T>>({ max: 20 });
  const createOne = (query: Query, key: string): Reading<T> => {
    const known = createReading(async () => {
      const { result, ask } = begin((signal) => read(query, signal));
      open.set(key, () => {
        ask();
        return known();
      });
      return result.finally(() => {
        open.delete(key);
        finished.set(key, known);
      });
    }, options);
    return known;
  };
  return (query) => {
    const key = JSON.stringify(query);
    const reading = open.get(key) ?? finished.get(key) ?? createOne(query, key);
    return reading();
  };
}

function problemText(error: unknown): string {
  const { name = '' } = error as { name?: string };
  if (name.startsWith('KafkaJS')) return `Kafka (KAFKA_BROKERS): ${errorMessage(error)}`;
  return name.startsWith('Mongo') ? `MongoDB (MONGODB_URL): ${errorMessage(error)}` : errorMessage(error);
}
