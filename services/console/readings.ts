import { LRUCache } from 'lru-cache';
import { type Html, html } from '../../shared/pages/html.ts';
import { errorMessage } from '../../shared/runtime/error-message.ts';
import { within } from '../../shared/runtime/within.ts';

/** The last value that the console has read, and why it has no newer one. */
export type Known<T> = { value: T | null; at: Date | null; problem: string | null };

/** Returns the value, at most `everyMs` old if the servers answer. Resolves within the deadline, and never rejects. */
type Reading<T> = () => Promise<Known<T>>;

/** A page waits at most this long for MongoDB and Kafka, in milliseconds. Then it shows the last known data. */
const deadlineMs = 3_000;
/** A slow read is repeated less often: reads take at most this part of the time. */
const busyPart = 1 / 5;

/** Reads that clients choose, by a query or an id: more are refused while this number is in progress. */
const openMax = 10;
/** Longer than a page pauses before it asks again, in milliseconds. */
const abandonedAfterMs = 10_000;

/** A read in progress. A request calls `ask` when it begins to wait for the read. */
type OpenRead<T> = { result: Promise<T>; ask: () => void };

/** Begins a read, which gets a signal. Throws if too many are in progress. */
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

type ReadingOptions = { everyMs: number; waitMs?: number; nowMs?: () => number };

/**
 * Reads a value for all pages and clients: again when it is older than `everyMs`, and never twice at once. `read`
 * receives the value before, for rates.
 */
export function createReading<T>(
  read: (before: T | null) => Promise<T>,
  { everyMs, waitMs = deadlineMs, nowMs = () => performance.now() }: ReadingOptions,
): Reading<T> {
  let known: Known<T> = { value: null, at: null, problem: null };
  let reading: Promise<void> | null = null;
  let nextMs = -Infinity;
  const refresh = async () => {
    const startMs = nowMs();
    try {
      known = { value: await read(known.value), at: new Date(), problem: null };
      nextMs = nowMs() + Math.max(everyMs, (nowMs() - startMs) / busyPart);
    } catch (error) {
      known = { ...known, problem: problemText(error) };
      nextMs = nowMs() + everyMs;
    }
    reading = null;
  };
  return async () => {
    if (!reading && nowMs() < nextMs) return known;
    reading ??= refresh();
    const finished = reading.then(() => false);
    const isLate = await within(waitMs, finished, () => true);
    const silence = `MongoDB or Kafka has not answered for ${waitMs / 1_000} s`;
    return isLate ? { ...known, problem: known.problem ?? silence } : known;
  };
}

/** A reading for each query; a query is plain JSON. The least recently used ones of more than 20 are dropped. */
export function createReadings<Query, T>(
  begin: BeginRead,
  read: (query: Query, signal: AbortSignal) => Promise<T>,
  options: ReadingOptions,
): (query: Query) => Promise<Known<T>> {
  const createOne = (query: string): Reading<T> => {
    let reading: OpenRead<T> | null = null;
    const known = createReading(async () => {
      reading = begin((signal) => read(JSON.parse(query) as Query, signal));
      return reading.result.finally(() => (reading = null));
    }, options);
    return () => {
      reading?.ask();
      return known();
    };
  };
  const readings = new LRUCache<string, Reading<T>>({ max: 20, memoMethod: createOne });
  return (query) => readings.memo(JSON.stringify(query))();
}

/** Content that came too late is kept this long for the next request, in milliseconds. */
const keptForMs = 60_000;

/**
 * Renders the content of a key, or the reason why the content is missing. Resolves within the deadline and never
 * rejects.
 */
export type Render = (key: string, work: (signal: AbortSignal) => Promise<Html>) => Promise<Html>;

/**
 * Creates the function that renders content which pages do not read again by themselves. Requests of one key share the
 * work. Work that misses the deadline continues, and a later request gets its content from a slow MongoDB.
 */
export function createRenderWithDeadline(begin: BeginRead, waitMs = deadlineMs): Render {
  const open = new Map<string, OpenRead<Html>>();
  const late = new LRUCache<string, Html>({ max: 2 * openMax, ttl: keptForMs });
  const beginOnce = (key: string, work: (signal: AbortSignal) => Promise<Html>): OpenRead<Html> => {
    const begun = open.get(key);
    if (begun) return begun;
    const reading = begin((signal) => work(signal).finally(() => open.delete(key)));
    open.set(key, reading);
    return reading;
  };
  return async (key, work) => {
    const kept = late.get(key);
    late.delete(key);
    if (kept) return kept;
    let isLate = false;
    try {
      const { result, ask } = beginOnce(key, work);
      ask();
      const content = await within(waitMs, result, () => {
        isLate = true;
        result.then(
          (finished) => late.set(key, finished),
          () => undefined,
        );
        return html`<p class="finding bad" data-again>
          MongoDB has not answered for ${waitMs / 1_000} s. It is still asked: load this page again.
        </p>`;
      });
      // Kept for an earlier request, whose page loads itself again.
      if (!isLate) late.delete(key);
      return content;
    } catch (error) {
      return html`<p class="finding bad">${problemText(error)}</p>`;
    }
  };
}

function problemText(error: unknown): string {
  const { name = '' } = error as { name?: string };
  if (name.startsWith('KafkaJS')) return `Kafka (KAFKA_BROKERS): ${errorMessage(error)}`;
  return name.startsWith('Mongo') ? `MongoDB (MONGODB_URL): ${errorMessage(error)}` : errorMessage(error);
}
