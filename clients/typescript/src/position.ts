/** The point that an export has reached between two pages. */
export type ExportPosition = {
  /** The export contains the changes from this time on; null for everything. */
  changedFrom: string | null;
  /** The time at which the next export begins: the minimum `Data-As-Of` so far; null before the first page. */
  nextChangedFrom: Date | null;
  /** The cursor of the next page; null for the first page. */
  cursor: string | null;
};

/** The position before the first page. */
export const beginAt = (changedFrom: string | null): ExportPosition => ({
  changedFrom,
  nextChangedFrom: null,
  cursor: null,
});

/**
 * Writes a position as the text `since`. After the last page, `since` is the time at which the next export begins.
 * Before that, it is the position as JSON.
 */
export const writePosition = ({ changedFrom, nextChangedFrom, cursor }: ExportPosition): string =>
  cursor === null && nextChangedFrom
    ? nextChangedFrom.toISOString()
    : JSON.stringify({ changedFrom, nextChangedFrom, cursor });

/** Reads `since`: the result of `writePosition`, or a time that the caller chooses. The API validates times. */
export function readPosition(since: string | undefined): ExportPosition {
  if (since === undefined) return beginAt(null);
  if (!since.startsWith('{')) return beginAt(since);
  const { changedFrom, nextChangedFrom, cursor } = parseJson(since);
  if (!isTextOrNull(changedFrom) || !isTextOrNull(nextChangedFrom) || !isTextOrNull(cursor))
    throw malformed();
  const nextDate = nextChangedFrom === null ? null : new Date(nextChangedFrom);
  if (nextDate && Number.isNaN(nextDate.getTime())) throw malformed();
  return { changedFrom, nextChangedFrom: nextDate, cursor };
}

type UncheckedPosition = { [Field in keyof ExportPosition]?: unknown };

function parseJson(since: string): UncheckedPosition {
  try {
    return JSON.parse(since) as UncheckedPosition;
  } catch {
    throw malformed();
  }
}

const isTextOrNull = (value: unknown): value is string | null => value === null || typeof value === 'string';
const malformed = () => new TypeError('since must be the `since` of a batch, or an ISO 8601 time');
