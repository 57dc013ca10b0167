import { setTimeout as sleep } from 'node:timers/promises';
import { type Service, startService } from '../../infra/service.ts';
import { generationDatabase } from '../../shared/store/connection.ts';
import { fold } from '../convergence/fold.ts';
import { readDocuments } from '../convergence/read-documents.ts';
import { apiKey, apiSettings, get as request } from '../support/api-process.ts';
import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { logEnds, reached } from '../support/progress.ts';
import { useProjector } from '../support/use-projector.ts';
import { type LiveTraffic, startLiveTraffic } from './live-traffic.ts';

/** Set `SEED` to reproduce a failure. */
const seed = Number(process.env.SEED ?? 1);
const tickets = Array.from({ length: 40 }, (_, index) => created('ticket', `ti_stable${index}`));
const stable = [apiKey, created('contact', 'con_1'), created('channel', 'chan_1'), ...tickets];

type Page = { data: { id: string }[]; hasMore: boolean; nextCursor: string | null };

/**
 * Reads the whole list of tickets repeatedly. Each walk must show each of the tickets in `stable`, which never change,
 * exactly once. `Data-As-Of` must never go back.
 */
function startReader(api: Service, stableIds: Set<string>) {
  /** Defects that a client would report. */
  const complaints: string[] = [];
  let walks = 0;
  let isStopped = false;
  let lastAsOf = '';
  const get = async (path: string): Promise<Page | null> => {
    const response = await request(api, path);
    const asOf = response.headers.get('data-as-of') ?? '';
    if (asOf < lastAsOf) complaints.push(`Data-As-Of went from ${lastAsOf} back to ${asOf}`);
    lastAsOf = asOf;
    if (response.ok) return (await response.json()) as Page;
    complaints.push(`${response.status} ${await response.text()}`);
    return null;
  };
  const walk = async () => {
    const seen = new Map<string, number>();
    let cursor: string | null = '';
    while (cursor !== null) {
      const query: string = cursor && `&startingAfter=${encodeURIComponent(cursor)}`;
      const page: Page | null = await get(`/v1/tickets?limit=7${query}`);
      if (!page) return;
      for (const { id } of page.data) seen.set(id, (seen.get(id) ?? 0) + 1);
      cursor = page.hasMore ? page.nextCursor : null;
      await sleep(20);
    }
    for (const id of stableIds) {
      if (seen.get(id) !== 1) complaints.push(`${id} was shown ${seen.get(id) ?? 0} times`);
    }
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

describe(`a rebuild under live traffic (seed ${seed})`, () => {
  let traffic: LiveTraffic;
  let reader: ReturnType<typeof startReader>;
  let api: Service;
  const projectors = new Map<number, Service>();

  // Jest runs hooks in the order of their definition: these end before their databases are dropped.
  afterAll(async () => {
    await reader.stop();
    await traffic.stop();
    await api.stop();
  });
  const { environment, publish, applied, cli, startProcess } = useProjector({ partitions: 2, projectors: 0 });

  const startProjector = async (generation: number) => {
    const projector = startProcess({ GENERATION: String(generation), KAFKA_SESSION_TIMEOUT_MS: '6000' });
    projectors.set(generation, projector);
    await projector.logged('projecting');
  };
  const killProjector = (generation: number) => projectors.get(generation)?.stop('SIGKILL');
  const rebuild = async (...args: string[]) => {
    const { code, text, errors } = await cli('rebuild', ...args, '--json');
    return { code, output: (text ? JSON.parse(text) : errors) as Record<string, unknown> };
  };
  const expectFold = async (generation: number) => {
    const { admin, control, topics, mongo, name } = environment;
    await reached(control, await logEnds(admin, topics), () => [], generation);
    const expected = Object.fromEntries(fold([...stable, ...traffic.published]));
    expect(await readDocuments(generationDatabase(mongo, name, generation))).toEqual(expected);
  };

  beforeAll(async () => {
    await publish(...stable);
    await startProjector(1);
    api = startService('api', { ...apiSettings(environment.variables), RATE_LIMIT_REQUESTS: '100000' });
    await applied();
    traffic = startLiveTraffic(environment, seed * 1_000);
    await api.logged('serving generation');
    reader = startReader(api, new Set(tickets.map(({ id }) => id)));
  });

  test('starts beside the active generation', async () => {
    expect(await rebuild('start', '--why', 'test')).toMatchObject({ code: 0, output: { generation: 2 } });
  });

  test('becomes ready although its projector is killed twice', async () => {
    await startProjector(2);
    await killProjector(2);
    await startProjector(2);
    expect(await rebuild('await', '2', '--timeout', '600')).toMatchObject({ code: 0 });
    await killProjector(2);
    await startProjector(2);
    expect(await rebuild('await', '2', '--timeout', '600')).toMatchObject({ code: 0 });
  });

  test('is promoted after a comparison without differences', async () => {
    expect(await rebuild('compare', '2')).toMatchObject({ code: 0, output: { differences: 0 } });
    const promoted = await rebuild('promote', '2', '--why', 'test', '--timeout', '600');
    expect(promoted).toMatchObject({ code: 0, output: { outcome: 'promoted', waiting: [] } });
  });

  test('can be rolled back to a standby that follows the log', async () => {
    await killProjector(1);
    await startProjector(1);
    expect(await rebuild('await', '1', '--timeout', '600')).toMatchObject({ code: 0 });
    expect(await rebuild('rollback', '1', '--timeout', '600')).toMatchObject({
      code: 0,
      output: { generation: 1, waiting: [] },
    });
    expect(await rebuild('promote', '2', '--timeout', '600')).toMatchObject({
      code: 0,
      output: { generation: 2, waiting: [] },
    });
  });

  test('leaves both generations equal to the fold of the log', async () => {
    await traffic.pause();
    await expectFold(1);
    await expectFold(2);
    traffic.resume();
  });

  test('ends the projectors of a standby that is dropped', async () => {
    expect(await rebuild('drop', '1', '--force', '--timeout', '600')).toMatchObject({
      code: 0,
      output: { outcome: 'dropped' },
    });
    expect(await projectors.get(1)?.exited).toBe(1);
  });

  test('causes no gap, repetition or error for readers', async () => {
    const walksBefore = reader.walks();
    await eventually(() => reader.walks() >= walksBefore + 2 || reader.complaints.length > 0);
    expect(reader.complaints).toEqual([]);
    expect(walksBefore).toBeGreaterThan(10);
  });
});
