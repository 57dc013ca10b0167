import { setTimeout as sleep } from 'node:timers/promises';
import { ticketSorts } from '../../services/api/resources/tickets/schema.ts';
import { listOf } from '../api/test-api.ts';
import { created } from '../support/entities.ts';
import { applied } from '../support/test-environment.ts';
import { useOpened } from '../support/use-opened.ts';
import { startScenario } from './scenario.ts';

/** Set `SEED` to reproduce a failure. */
const seed = Number(process.env.SEED ?? 1);
const count = 120;
/** Every third item changes while lists are walked; the others are stable. */
const isStable = (index: number) => index % 3 !== 0;
const statuses = ['open', 'snoozed', 'resolved', 'assumed_resolved', 'closed'];
const statusOf = (index: number) => statuses[index % 5] ?? 'open';
const kinds = ['ticket', 'channel', 'qa', 'message'] as const;
const prefixes = { ticket: 'ti_', channel: 'chan_', qa: 'qa_', message: 'msg_' };
type Listed = (typeof kinds)[number];
const idsOf = (kind: Listed, chosen: (index: number) => boolean) =>
  Array.from({ length: count }, (_, index) => index)
    .filter((index) => isStable(index) && chosen(index))
    .map((index) => `${prefixes[kind]}${index}`);

type Item = { id: string; createdAt: string; updatedAt: string; status: unknown };

describe(`lists walked while partitions lag at random (seed ${seed})`, () => {
  afterAll(async () => {
    isOver = true;
    await living;
  });
  // Jest runs hooks in the order of their definition: the changes end before the scenario.
  const scenario = useOpened(() => startScenario({ seed, stepMs: 1_000, delayMsMax: 1_500 }));
  let isOver = false;
  let living: Promise<void>;

  /** An item in the state that it has from now on; those that stay have few instants, so that ties are common. */
  const tell = (kind: Listed, index: number, isNew: boolean) => {
    const { source, random } = scenario;
    const id = `${prefixes[kind]}${index}`;
    const createdAt = new Date(Date.UTC(2025, 0, 1) + (index % 12) * 1_000).toISOString();
    const updatedAt = isNew
      ? new Date(Date.UTC(2025, 6, 1) + (index % 10) * 1_000).toISOString()
      : new Date(source.nowMs()).toISOString();
    const status = isNew ? statusOf(index) : random.pick(statuses);
    const data =
      kind === 'qa'
        ? { id, question: 'How?', questionVariations: [], answer: 'So.', createdAt, updatedAt }
        : created(kind, id, {
            createdAt,
            ...(kind === 'message' ? {} : { updatedAt }),
            ...(kind === 'ticket' ? { status } : {}),
          }).data;
    source.emit({ kind, id, op: isNew ? 'created' : 'updated', ...(data ? { data } : {}) });
  };
  const rename = () => {
    const { source, random } = scenario;
    const name = `Ada ${random.int(1_000)}`;
    source.emit({ kind: 'contact', id: 'con_1', op: 'updated', data: { id: 'con_1', name, email: null } });
  };

  beforeAll(async () => {
    const { source, random, testEnvironment, fatal } = scenario;
    const archivedAt = '2026-01-01T00:00:00Z';
    source.emit(created('channel', 'chan_hidden', { archivedAt }));
    source.emit(created('conversation', 'conv_1', { channelId: 'chan_hidden' }));
    rename();
    for (const kind of kinds) for (let index = 0; index < count; index += 1) tell(kind, index, true);
    await source.finish();
    await applied(testEnvironment, fatal);
    // when changes go on: tickets move, come and go, and the entities that they show are renamed
    let next = count;
    const change = () => {
      for (let turn = 0; turn < 4; turn += 1) {
        const kind = random.pick(kinds);
        const index = random.int(count / 3) * 3;
        if (random.chance(0.2)) rename();
        else if (random.chance(0.15)) source.emit({ kind, id: `${prefixes[kind]}${index}`, op: 'deleted' });
        else if (random.chance(0.2)) tell(kind, (next += 3), true);
        else tell(kind, index, false);
      }
    };
    living = scenario.live(change, () => !isOver, 30);
  });

  const walk = async (path: string): Promise<Item[]> => {
    const items: Item[] = [];
    let cursor: string | null = null;
    let asOf = '';
    do {
      const after: string = cursor === null ? '' : `&startingAfter=${cursor}`;
      const answer = await scenario.get(`${path}limit=3${after}`);
      if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
      const page = listOf(answer);
      // A reader takes its time, in which the list changes.
      await sleep(10);
      items.push(...(page.data as Item[]));
      cursor = page.nextCursor;
      const now = answer.headers.get('data-as-of') ?? '';
      expect(now >= asOf).toBe(true);
      asOf = now;
    } while (cursor !== null);
    return items;
  };

  /** All instants are whole seconds, so that the sort key is shown in full. */
  const expectOrder = (items: Item[], field: 'createdAt' | 'updatedAt', direction: 1 | -1) => {
    const keys = items.map((item) => Buffer.from(`${new Date(item[field]).toISOString()}${item.id}`));
    const unordered = keys.filter(
      (key, index) => index > 0 && Buffer.compare(keys[index - 1] ?? key, key) * direction >= 0,
    );
    expect(unordered.map(String)).toEqual([]);
  };
  const expectEachOnce = (items: Item[], stable: string[]) => {
    const wanted = new Set(stable);
    expect(
      items
        .map(({ id }) => id)
        .filter((id) => wanted.has(id))
        .toSorted(),
    ).toEqual(stable.toSorted());
  };

  const cases = ticketSorts.flatMap((sort) => [
    { sort, query: '', chosen: () => true },
    { sort, query: 'status=open&', chosen: (index: number) => statusOf(index) === 'open' },
    {
      sort,
      query: 'status=closed&status=resolved&',
      chosen: (index: number) => ['closed', 'resolved'].includes(statusOf(index)),
    },
  ]);
  test.each(cases)(
    'tickets by $sort $query: every unchanged ticket is returned exactly once, in strict order',
    async ({ sort, query, chosen }) => {
      const items = await walk(`/v1/tickets?sort=${sort}&${query}`);
      expectEachOnce(items, idsOf('ticket', chosen));
      expectOrder(
        items,
        sort.endsWith('createdAt') ? 'createdAt' : 'updatedAt',
        sort.startsWith('-') ? -1 : 1,
      );
      const shown = [...query.matchAll(/status=(\w+)/g)].map(([, status]) => status);
      if (shown.length > 0) expect(items.filter(({ status }) => !shown.includes(String(status)))).toEqual([]);
    },
  );

  test.each([
    ['channel', '/v1/channels?'],
    ['qa', '/v1/knowledge/qa?'],
    ['message', '/v1/conversations/conv_1/messages?'],
  ] as const)(
    'the %s list: every unchanged item is returned exactly once, in strict order',
    async (kind, path) => {
      const items = await walk(path);
      expectEachOnce(
        items,
        idsOf(kind, () => true),
      );
      expectOrder(items, 'createdAt', 1);
    },
  );

  test('the changes were in progress all along', async () => {
    const before = (await walk('/v1/tickets?sort=-updatedAt&'))[0]?.updatedAt ?? '';
    while (((await walk('/v1/tickets?sort=-updatedAt&'))[0]?.updatedAt ?? '') <= before);
    expect(scenario.fatal()).toEqual([]);
  });
});
