import { join } from 'node:path';
import { type Service, startScript } from '../../infra/service.ts';
import { projectionVersion } from '../../shared/control/generations.ts';
import { readLiveReplicas } from '../../shared/control/processes.ts';
import { storeTime } from '../../shared/store/clock.ts';
import { apiKey, apiSettings, get } from '../support/api-process.ts';
import { created } from '../support/entities.ts';
import { eventually, notYet } from '../support/eventually.ts';
import { fatalError } from '../support/fatal-error.ts';
import { applied, createTestEnvironment, publish } from '../support/test-environment.ts';
import { useOpened } from '../support/use-opened.ts';
import { type Edit, nextRelease } from './next-release.ts';

/** The changes of the next release: a tag's name that a ticket embeds ends in an exclamation mark. */
const edits: Edit[] = [
  {
    file: 'shared/control/generations.ts',
    find: `export const projectionVersion = ${projectionVersion};`,
    replace: `export const projectionVersion = ${projectionVersion + 1};`,
  },
  {
    file: 'shared/control/generations.ts',
    find: 'export const servedVersions: readonly number[] = [projectionVersion',
    replace: `export const servedVersions: readonly number[] = [projectionVersion, ${projectionVersion}`,
  },
  {
    file: 'services/projector/projections/ticket.ts',
    // Adds a second `tags` to the object literal, which overrides the first.
    find: 'topics,\n      moreAfter: conversations.moreAfter',
    replace:
      'topics, tags: tags.map(({ id, name }) => ({ id, name: `${name}!` })), moreAfter: conversations.moreAfter',
  },
];

const events = [
  apiKey,
  created('tag', 'tag_1', { name: 'Billing' }),
  created('contact', 'con_1'),
  created('ticket', 'ti_1', { tagIds: ['tag_1'] }),
];

describe('a release with a changed projection', () => {
  let previousProjector: Service;
  const services: Service[] = [];

  const start = (
    folder: string,
    name: 'projector' | 'api' | 'cli',
    settings: object = {},
    args: string[] = [],
  ) => {
    const environment = { ...testEnvironment.variables, LOG_LEVEL: 'info', ...settings };
    const service = startScript(join(folder, 'services', name, 'main.ts'), environment, args);
    services.push(service);
    return service;
  };
  const startApi = (folder: string) =>
    start(folder, 'api', {
      KAFKA_BROKERS: undefined,
      TOPIC_PREFIX: undefined,
      CONSUMER_GROUP: undefined,
      ...apiSettings(testEnvironment.variables),
    });
  const cli = async (folder: string, ...args: string[]) => {
    const service = start(folder, 'cli', {}, [...args, '--json']);
    const code = await service.exited;
    return { code, output: JSON.parse(service.stdout() || '{}') as Record<string, unknown> };
  };
  const tagShown = async (api: Service) => {
    const body = (await (await get(api, '/v1/tickets/ti_1')).json()) as { tags?: { name: string }[] };
    return body.tags?.[0]?.name;
  };
  /**
   * Resolves once this replica alone is live: a replica may announce itself only after it serves, and may count as live
   * after its end.
   */
  const untilOnlyReplica = ({ pid }: Service) =>
    eventually(async () => {
      const { control } = testEnvironment;
      const replicas = await readLiveReplicas(control, await storeTime(control));
      return (replicas.length === 1 && replicas[0]?.pid === pid) || notYet(replicas);
    });
  const failedChecks = ({ output }: { output: Record<string, unknown> }) =>
    (output.findings as { name: string; isAccepted: boolean }[])
      .filter(({ isAccepted }) => !isAccepted)
      .map(({ name }) => name);
  const refusal = async (service: Service) => {
    expect(await service.exited).toBe(1);
    return fatalError(service)?.message;
  };

  // Jest runs hooks in the order of their definition: the services stop before their databases are dropped.
  afterAll(() => Promise.all(services.map((service) => service.stop())));
  const next = useOpened(() => nextRelease(edits));
  const testEnvironment = useOpened(() => createTestEnvironment(1));
  beforeAll(async () => {
    await publish(testEnvironment, events);
    previousProjector = start('.', 'projector');
    await previousProjector.logged('projecting');
    await applied(testEnvironment);
  });

  test('refuses the documents of the previous release with an error that names the rebuild', async () => {
    expect(await refusal(start(next.folder, 'projector'))).toContain(
      'A rebuild is due: support-cli rebuild start',
    );
  });

  test('builds a generation that the previous release refuses', async () => {
    expect(await cli(next.folder, 'rebuild', 'start')).toMatchObject({ code: 0, output: { generation: 2 } });
    expect(await refusal(start('.', 'projector', { GENERATION: '2' }))).toContain(
      `generation 2 holds documents of projection version ${projectionVersion + 1}`,
    );
    await start(next.folder, 'projector', { GENERATION: '2' }).logged('projecting');
    expect(await cli(next.folder, 'rebuild', 'await', '2', '--timeout', '600')).toMatchObject({ code: 0 });
  });

  test('builds documents that differ only as intended', async () => {
    expect(await cli(next.folder, 'rebuild', 'compare', '2')).toMatchObject({
      code: 1,
      output: { counts: { joined: 1 }, samples: [{ kind: 'ticket', id: 'ti_1', field: 'joined.tags' }] },
    });
    expect(failedChecks(await cli(next.folder, 'rebuild', 'promote', '2', '--dry-run'))).toEqual([
      'pinned',
      'compared',
    ]);
    const compared = await cli(next.folder, 'rebuild', 'compare', '2', '--expect', 'ticket:joined.tags');
    expect(compared).toMatchObject({ code: 0, output: { differences: 0, expected: 1 } });
    // Pin the projector of generation 1, so a restart does not move it to generation 2.
    await previousProjector.stop();
    await start('.', 'projector', { GENERATION: '1' }).logged('projecting');
    await eventually(
      async () => failedChecks(await cli(next.folder, 'rebuild', 'promote', '2', '--dry-run')).length === 0,
    );
  });

  test('is promoted only once no replica of the previous release runs', async () => {
    const previousApi = startApi('.');
    await eventually(async () => (await tagShown(previousApi)) === 'Billing');
    await untilOnlyReplica(previousApi);
    expect(failedChecks(await cli(next.folder, 'rebuild', 'promote', '2'))).toContain('replicas');
    const nextApi = startApi(next.folder);
    await eventually(async () => (await tagShown(nextApi)) === 'Billing');
    await previousApi.stop();
    await untilOnlyReplica(nextApi);
    const promoted = await cli(next.folder, 'rebuild', 'promote', '2');
    expect(promoted).toMatchObject({ code: 0, output: { outcome: 'promoted', waiting: [] } });
    expect(await tagShown(nextApi)).toBe('Billing!');
    expect(await cli(next.folder, 'rebuild', 'rollback', '1')).toMatchObject({ code: 0 });
    expect(await tagShown(nextApi)).toBe('Billing');
    expect(await cli(next.folder, 'rebuild', 'promote', '2')).toMatchObject({ code: 0 });
  });
});
