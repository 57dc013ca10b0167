import { setTimeout as sleep } from 'node:timers/promises';

type Page = { data: { id: string }[]; hasMore: boolean; nextCursor: string | null };

export type Reader = {
  walks: () => number;
  /** Everything that a customer would report as a defect. */
  complaints: string[];
  stop: () => Promise<void>;
};

/**
 * Reads the whole list of tickets repeatedly. Each walk must show each of the tickets in `stable`, which never change,
 * exactly once. `Data-As-Of` must never go back.
 */
export function startReader(origin: string, token: string, stable: Set<string>): Reader {
  const complaints: string[] = [];
  let walks = 0;
  let isStopped = false;
  let lastAsOf = '';
  const get = async (path: string): Promise<Page | null> => {
    const headers = { authorization: `Bearer ${token}`, 'x-forwarded-proto': 'https' };
    const response = await fetch(origin + path, { headers });
    const asOf = response.headers.get('data-as-of') ?? '';
    if (asOf < lastAsOf) complaints.push(`Data-As-Of went from ${lastAsOf} back to ${asOf}`);
    lastAsOf = asOf;
    if (response.ok) return (await response.json()) as Page;
    complaints.push(`${response.status} ${await response.text()}`);
    return null;
  };
  const walk = async () => {
    const seen = new Map<string, number>();
    for (let cursor: string | null = ''; cursor !== null;) {
      const page: Page | null = await get(
        `/v1/tickets?limit=7${cursor && `&startingAfter=${encodeURIComponent(cursor)}`}`,
      );
      if (!page) return;
      for (const { id } of page.data) seen.set(id, (seen.get(id) ?? 0) + 1);
      cursor = page.hasMore ? page.nextCursor : null;
      await sleep(20);
    }
    for (const id of stable)
      if (seen.get(id) !== 1) complaints.push(`${id} was shown ${seen.get(id) ?? 0} times`);
    walks += 1;
  };
  const running = (async () => {
    // One complaint is enough to fail a test; without a pause a refused reader would make thousands.
    while (!isStopped && complaints.length < 10)
      await walk().catch((error: unknown) => complaints.push(String(error)));
  })();
  return {
    walks: () => walks,
    complaints,
    stop: async () => {
      isStopped = true;
      await running;
    },
  };
}
