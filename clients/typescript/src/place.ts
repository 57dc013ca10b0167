/** How far an export has come. */
export type Place = {
  /** Changes from this instant on are exported; null for everything. */
  from: string | null;
  /** The least `Data-As-Of` of the run so far: where the next one begins. */
  next: Date | null;
  /** The page to go on with; null for the first. */
  cursor: string | null;
};

/** A run that has ended is told by an instant, which is `updatedAt[gte]` of the next; one half-way by all of it. */
export const writePlace = ({ from, next, cursor }: Place): string =>
  cursor === null && next ? next.toISOString() : JSON.stringify({ from, next, cursor });

/** An instant of the caller's own is taken as well: the API says if it is none. */
export function readPlace(since: string | undefined): Place {
  if (since === undefined) return { from: null, next: null, cursor: null };
  if (!since.startsWith('{')) return { from: since, next: null, cursor: null };
  const { from, next, cursor } = parse(since);
  const nextDate = typeof next === 'string' ? new Date(next) : null;
  const isWhole = isTextOrNull(from) && isTextOrNull(next) && isTextOrNull(cursor);
  if (!isWhole || Number.isNaN(nextDate?.getTime())) throw malformed();
  return { from, next: nextDate, cursor };
}

function parse(since: string): { [Field in keyof Place]?: unknown } {
  try {
    return JSON.parse(since) as Place;
  } catch {
    throw malformed();
  }
}

const isTextOrNull = (value: unknown): value is string | null => value === null || typeof value === 'string';
const malformed = () => new TypeError('since must be the `since` of a batch, or an ISO 8601 time');
