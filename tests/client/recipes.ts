import { listOf, type Get } from '../api/test-api.ts';

/** The ids of the exported tickets and messages. */
type Copy = Set<string>;

/** The recipe of the guide to exports, and wrong variants of it. */
export type Recipe = {
  /** The tickets whose threads are fetched: every returned ticket, or only new ones. */
  threads: 'every' | 'new';
  /** The start of the next run: the `Data-As-Of` of the first page, or the earliest of the named answers. */
  next: 'first page' | 'pages' | 'answers' | 'answers and errors';
};

type Ticket = { id: string; updatedAt: string; conversations: { id: string }[] };

/** One run from `since` on; returns the start of the next run. */
export async function exportBy({ threads, next }: Recipe, get: Get, copy: Copy, since: string | null) {
  const instants: string[] = [];
  const ask = async (path: string, isPage: boolean) => {
    const answer = await get(path);
    const isCounted =
      next === 'first page'
        ? instants.length === 0
        : isPage || next === 'answers and errors' || (next === 'answers' && answer.status === 200);
    if (isCounted) instants.push(answer.headers.get('data-as-of') ?? '');
    return answer.status === 200 ? listOf(answer) : null;
  };
  let cursor: string | null = null;
  do {
    const query = new URLSearchParams({ limit: '1', sort: 'updatedAt' });
    if (since !== null) query.set('updatedAt[gte]', since);
    if (cursor !== null) query.set('startingAfter', cursor);
    const page = await ask(`/v1/tickets?${query.toString()}`, true);
    for (const ticket of (page?.data ?? []) as Ticket[]) {
      const isKnown = threads === 'new' && copy.has(`${ticket.id} of ${ticket.updatedAt}`);
      copy.add(ticket.id).add(`${ticket.id} of ${ticket.updatedAt}`);
      for (const { id } of isKnown ? [] : ticket.conversations) {
        const thread = await ask(`/v1/conversations/${id}/messages?limit=100`, false);
        for (const message of (thread?.data ?? []) as { id: string }[]) copy.add(message.id);
      }
    }
    cursor = page?.nextCursor ?? null;
  } while (cursor !== null);
  return instants.toSorted()[0] ?? null;
}
