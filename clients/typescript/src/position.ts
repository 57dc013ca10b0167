/** The position of an export between two pages. */
export type ExportPosition = {
  /** The run exports changes from this instant on; null for everything. */
  from: string | null;
  /** The minimum `Data-As-Of` of the run so far, where the next run begins. */
  next: Date | null;
  /** The cursor of the next page; null for the first page. */
  cursor: string | null;
};

/** Returns a position as `since`: after the last page the instant at which the next run begins, otherwise JSON. */
export const writePosition = ({ from, next, cursor }: ExportPosition): string =>
  cursor === null && next ? next.toISOString() : JSON.stringify({ from, next, cursor });

/** Reads `since`: the result of `writePosition`, or an instant that the caller chooses. The API validates instants. */
export function readPosition(since: string | undefined): ExportPosition {
  if (since === undefined) return { from: null, next: null, cursor: null };
  if (!since.startsWith('{')) return { from: since, next: null, cursor: null };
  const { from, next, cursor } = parse(since);
  const nextDate = typeof next === 'string' ? new Date(next) : null;
  const isWhole = isTextOrNull(from) && isTextOrNull(next) && isTextOrNull(cursor);
  if (!isWhole || Number.isNaN(nextDate?.getTime())) throw malformed();
  return { from, next: nextDate, cursor };
}

function parse(since: string): { [Field in keyof ExportPosition]?: unknown } {
  try {
    return JSON.parse(since) as ExportPosition;
  } catch {
    throw malformed();
  }
}

const isTextOrNull = (value: unknown): value is string | null => value === null || typeof value === 'string';
const malformed = () => new TypeError('since must be the `since` of a batch, or an ISO 8601 time');
