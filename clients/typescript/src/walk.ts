import { EndlessListError } from './errors.ts';

/** The fields of an item that show whether it is the same item, unchanged. */
export type Listed = { id: string; createdAt: string; updatedAt?: string };

/** A page of a walk, and the request that it answers. */
type VisitedPage = {
  path: string;
  /** The cursor of the request; null for the first page. */
  startingAfter: string | null;
  data: Listed[];
  nextCursor: string | null;
  requestId: string;
  dataAsOf: Date;
};

/** The memory of a walk through a list: the number of its pages so far, and one of them, the remembered page. */
export type Walk = {
  pages: number;
  /** The number of the page that replaces the remembered page. */
  replaceAt: number;
  /** The next cursor of the remembered page. */
  cursor: string | null;
  /** An item of the remembered page as JSON; null if no item of that page was settled. */
  item: { id: string; json: string } | null;
};

export const emptyWalk: Walk = { pages: 0, replaceAt: 1, cursor: null, item: null };

/**
 * Returns the walk after one more page. Throws `EndlessListError` if the page repeats the cursor or the item of the
 * remembered page, because the loop would never end. Of the pages 1, 2, 4, 8 … it remembers the last one (Brent's
 * algorithm), which finds a cycle of any length, in constant memory.
 */
export function addPage(walk: Walk, page: VisitedPage): Walk {
  const { nextCursor } = page;
  if (nextCursor === null) return walk;
  const isRepeated = nextCursor === walk.cursor || page.data.some((listed) => isSameItem(listed, walk.item));
  if (isRepeated) throw new EndlessListError(page);
  const pages = walk.pages + 1;
  if (pages < walk.replaceAt) return { ...walk, pages };
  const item = page.data.find((listed) => isSettled(listed, page.dataAsOf));
  return {
    pages,
    replaceAt: 2 * pages,
    cursor: nextCursor,
    item: item ? { id: item.id, json: JSON.stringify(item) } : null,
  };
}

const isSameItem = (item: Listed, known: Walk['item']): boolean =>
  item.id === known?.id && JSON.stringify(item) === known.json;

/** The API shows instants of tickets to the second. */
export const shownPrecisionMs = 1_000;

/**
 * Whether every later version of the item shows another `updatedAt`. Two versions within one second show the same one.
 * But once `dataAsOf` has passed that second, the page already has the last version of the second.
 */
const isSettled = ({ createdAt, updatedAt = createdAt }: Listed, dataAsOf: Date): boolean =>
  Date.parse(updatedAt) + shownPrecisionMs <= dataAsOf.getTime();
