import { listOf, type Answer, type Get } from '../api/harness.ts';

export type Ticket = {
  id: string;
  title: string;
  status: string;
  requester: { name: string | null };
  updatedAt: string;
  conversations: { id: string }[];
};
export type Thread = { status: string; messages: { id: string; content: string }[] };
/** A ticket as an export holds it, with the threads that it had when it was last met. */
export type Exported = { ticket: Ticket; threads: Record<string, Thread> };

function succeeded(answer: Answer, path: string): Answer {
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
  return answer;
}

/**
 * One round of an incremental export, as the README tells it: walks what was updated since the first
 * `Data-As-Of` of the round before, and fetches the threads of *every* ticket met, also of one that was met
 * before and has not changed: its messages may lie on a part of the bus that was behind at the time. Gives the
 * first `Data-As-Of` of this round.
 */
export async function exportRound(
  get: Get,
  copy: Map<string, Exported>,
  since: string | null,
): Promise<string> {
  let first: string | null = null;
  let cursor: string | null = null;
  const bound = since === null ? '' : `&updatedAt[gte]=${since}`;
  do {
    const after: string = cursor === null ? '' : `&startingAfter=${cursor}`;
    const path = `/v1/tickets?sort=updatedAt&limit=5${bound}${after}`;
    const answer = succeeded(await get(path), path);
    const page = listOf(answer);
    first ??= answer.headers.get('data-as-of') ?? '';
    for (const ticket of page.data as Ticket[]) {
      copy.set(ticket.id, { ticket, threads: await fetchThreads(get, ticket) });
    }
    cursor = page.nextCursor;
  } while (cursor !== null);
  return first;
}

async function fetchThreads(get: Get, ticket: Ticket): Promise<Record<string, Thread>> {
  const threads: Record<string, Thread> = {};
  for (const { id } of ticket.conversations) {
    const answer = await get(`/v1/conversations/${id}`);
    // It may be gone by now, or be archived.
    if (answer.status === 404) continue;
    threads[id] = succeeded(answer, id).json() as Thread;
  }
  return threads;
}
