import { readTimeoutMs } from './deadline.ts';
import {
  createGather,
  createSharedQueries,
  ForeignDocument,
  readersMax,
  type SharedResult,
} from './gather.ts';
import { StoreUnavailable } from './store-errors.ts';

type Started = {
  group: string;
  wanted: string[];
  /** Answers with the group and the word of each reader. */
  answer: (pauseMs?: number) => void;
  fail: () => void;
};

/** A gather whose queries and pauses the test ends. */
function createReaders(queriesMax = Infinity) {
  const queries: Started[] = [];
  const pauses: { ms: number; end: () => void }[] = [];
  const beginPause = (ms: number) => new Promise<void>((end) => pauses.push({ ms, end }));
  const gather = createSharedQueries<string, string>({ pause: beginPause, queriesMax });
  const snapshots: Record<string, object> = {};
  const read = (wanted: string, name = 'ticket', generation = 1) => {
    const group = `${generation} ${name}`;
    snapshots[generation] ??= {};
    const snapshot = snapshots[generation];
    return gather({ snapshot, name }, wanted, (all) => {
      const { promise, resolve, reject } = Promise.withResolvers<SharedResult<string, string>>();
      const answer = (pauseMs = 0) => resolve({ find: (id) => `${group} ${id}`, pauseMs });
      queries.push({ group, wanted: all, answer, fail: () => reject(new Error(`no ${all.join()}`)) });
      return promise;
    });
  };
  /** Ends the pauses of this length that have begun. */
  const pass = async (ms: number) => {
    const due = pauses.filter((pause) => pause.ms === ms);
    for (const pause of due) pause.end();
    await settled();
  };
  return { queries, read, pass };
}
const settled = () => new Promise((resolve) => setImmediate(resolve));
const overdueMs = 20;

describe('readers of the same group', () => {
  test('share the next query, at most 64 of them, while a query runs', async () => {
    const { queries, read } = createReaders();
    const first = read('a');
    expect(queries.map(({ wanted }) => wanted)).toEqual([['a']]);
    const words = Array.from({ length: readersMax + 1 }, (_, index) => `word ${index}`);
    const rest = words.map((word) => read(word));
    queries[0]?.answer();
    expect(await first).toBe('1 ticket a');
    await settled();
    expect(queries[1]?.wanted).toEqual(words.slice(0, readersMax));
    queries[1]?.answer();
    await settled();
    expect(queries[2]?.wanted).toEqual(words.slice(readersMax));
    queries[2]?.answer();
    expect(await Promise.all(rest)).toEqual(words.map((word) => `1 ticket ${word}`));
  });

  test('are left out of later queries once their deadline has passed', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'clearImmediate'] });
    const { queries, read } = createReaders(1);
    // given a query that hangs, and a reader that waits for the next one until its deadline
    const refused = ['a', 'b'].map((word) => expect(read(word)).rejects.toThrow(StoreUnavailable));
    await jest.advanceTimersByTimeAsync(readTimeoutMs);
    await Promise.all(refused);
    const next = read('c');
    // when the query has failed at last
    queries[0]?.fail();
    await settled();
    // then the next query serves only the reader that still waits
    expect(queries.slice(1).map(({ wanted }) => wanted)).toEqual([['c']]);
    queries[1]?.answer();
    expect(await next).toBe('1 ticket c');
    jest.useRealTimers();
  });

  test('do not wait for an overdue query', async () => {
    const { queries, read, pass } = createReaders();
    const answers = [read('hangs'), read('b')];
    await pass(overdueMs);
    expect(queries.map(({ wanted }) => wanted)).toEqual([['hangs'], ['b']]);
    await pass(overdueMs);
    answers.push(read('c'));
    expect(queries[2]?.wanted).toEqual(['c']);
    for (const { answer } of queries.toReversed()) answer();
    expect(await Promise.all(answers)).toEqual(['1 ticket hangs', '1 ticket b', '1 ticket c']);
  });

  test('wait for the pause that an answer asks for', async () => {
    const { queries, read, pass } = createReaders();
    const first = read('a');
    queries[0]?.answer(7);
    await first;
    void read('b');
    await settled();
    expect(queries).toHaveLength(1);
    await pass(7);
    expect(queries[1]?.wanted).toEqual(['b']);
    queries[1]?.answer();
    await settled();
  });
});

test('other kinds and other snapshots have their own queries', async () => {
  const { queries, read } = createReaders();
  const answers = [read('a'), read('a', 'channel'), read('a', 'ticket', 2)];
  expect(queries.map(({ group }) => group)).toEqual(['1 ticket', '1 channel', '2 ticket']);
  for (const { answer } of queries) answer();
  expect(await Promise.all(answers)).toEqual(['1 ticket a', '1 channel a', '2 ticket a']);
});

test('at most `queriesMax` queries are in progress, including overdue queries', async () => {
  const { queries, read, pass } = createReaders(2);
  const answers = [read('a'), read('b'), read('c')];
  await pass(overdueMs);
  answers.push(read('d', 'channel'));
  await pass(overdueMs);
  expect(queries.map(({ wanted }) => wanted)).toEqual([['a'], ['b', 'c']]);
  queries[0]?.answer();
  await settled();
  expect(queries[2]?.wanted).toEqual(['d']);
  for (const { answer } of queries) answer();
  expect(await Promise.all(answers)).toEqual(['1 ticket a', '1 ticket b', '1 ticket c', '1 channel d']);
});

test('only the readers of a query that fails receive its error', async () => {
  const { queries, read } = createReaders();
  const refused = expect(read('a')).rejects.toThrow('no a');
  const next = read('b');
  queries[0]?.fail();
  await refused;
  await settled();
  queries[1]?.answer();
  expect(await next).toBe('1 ticket b');
});

test('a reader never gets a document of another organization', async () => {
  const gather = createGather<{ orgId: string }, { documents: { orgId: string }[] }>();
  const documents = [{ orgId: 'org_a' }, { orgId: 'org_b' }];
  const read = (orgId: string, found: typeof documents) => {
    const query = async () => ({ find: () => ({ documents: found }) });
    return gather({ snapshot: documents, name: orgId }, { orgId }, query);
  };
  await expect(read('org_a', documents)).rejects.toThrow(ForeignDocument);
  await expect(read('org_a', documents)).rejects.toThrow('a document of org_b for org_a');
  expect(await read('org_a', documents.slice(0, 1))).toEqual({ documents: [{ orgId: 'org_a' }] });
  expect(await read('org_a', [])).toEqual({ documents: [] });
});
