import { LRUCache } from 'lru-cache';
import { html, type Html } from '../../shared/pages/html.ts';
import { errorMessage } from '../../shared/runtime/error-message.ts';
import { within } from '../../shared/runtime/within.ts';

/** The last value that was read, and why there is no newer one. */
export type Known<T> = { value: T | null; at: Date | null; problem: string | null };

type Reading<T> = {
  /** The value, at most `everyMs` old if the servers answer. Resolves within the deadline, and never rejects. */
  get: () => Promise<Known<T>>;
  /** Reads no more, and resolves when the read in progress has ended. */
  end: () => Promise<void>;
};

/** A page waits at most this long for MongoDB and Kafka, in milliseconds. Then it shows the last known data. */
const deadlineMs = 3_000;
/** A slow read is repeated less often: reads take at most this part of the time. */
const busyPart = 1 / 5;

type ReadingOptions = { everyMs: number; waitMs?: number; nowMs?: () => number };

/**
 * Reads a value for all pages and clients: again when it is older than `everyMs`, and never twice at once. `read`
 * receives the value before and its time, for rates.
 */
export function createReading<T>(
  read: (before: { value: T; at: Date } | null) => Promise<T>,
  { everyMs, waitMs = deadlineMs, nowMs = () => performance.now() }: ReadingOptions,
): Reading<T> {
  let known: Known<T> = { value: null, at: null, problem: null };
  let reading: Promise<void> | null = null;
  let nextMs = -Infinity;
  let hasEnded = false;
  const refresh = async () => {
    const startMs = nowMs();
    const { value, at } = known;
    try {
      const next = await read(value !== null && at ? { value, at } : null);
      known = { value: next, at: new Date(), problem: null };
      nextMs = nowMs() + Math.max(everyMs, (nowMs() - startMs) / busyPart);
    } catch (error) {
      known = { ...known, problem: problemText(error) };
      nextMs = nowMs() + everyMs;
    }
    reading = null;
  };
  return {
    get: async () => {
      if (!reading && (hasEnded || nowMs() < nextMs)) return known;
      reading ??= refresh();
      const finished = reading.then(() => false);
      const isLate = await within(waitMs, finished, () => true);
      const silence = `MongoDB or Kafka has not answered for ${waitMs / 1_000} s`;
      return isLate ? { ...known, problem: known.problem ?? silence } : known;
    },
    end: async () => {
      hasEnded = true;
      await reading;
    },
  };
}

/** A reading for each query. The least recently used ones of more than 20 are dropped. */
export function createReadings<Query, T>(
  read: (query: Query) => Promise<T>,
  options: ReadingOptions,
): { get: (query: Query) => Promise<Known<T>>; end: () => Promise<void> } {
  const readings = new LRUCache<string, Reading<T>>({ max: 20 });
  return {
    get: (query) => {
      const key = JSON.stringify(query);
      const reading = readings.get(key) ?? createReading(() => read(query), options);
      readings.set(key, reading);
      return reading.get();
    },
    end: async () => void (await Promise.all([...readings.values()].map(({ end }) => end()))),
  };
}

/** More are refused while this number is open, because one may outlive its deadline. */
const openMax = 10;

/** Creates the function that renders content for one client, or why there is none: within the deadline, never rejecting. */
export function createRenderWithDeadline(waitMs = deadlineMs) {
  let open = 0;
  return async (work: () => Promise<Html>): Promise<Html> => {
    if (open >= openMax) return html`<p class="finding bad">The console is busy. Try again.</p>`;
    open += 1;
    const answer = work()
      .catch((error: unknown) => html`<p class="finding bad">${problemText(error)}</p>`)
      .finally(() => (open -= 1));
    const late = () => html`<p class="finding bad">MongoDB has not answered for ${waitMs / 1_000} s.</p>`;
    return within(waitMs, answer, late);
  };
}

function problemText(error: unknown): string {
  const { name = '' } = error as { name?: string };
  if (name.startsWith('KafkaJS')) return `Kafka (KAFKA_BROKERS): ${errorMessage(error)}`;
  return name.startsWith('Mongo') ? `MongoDB (MONGODB_URL): ${errorMessage(error)}` : errorMessage(error);
}
