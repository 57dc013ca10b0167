import { join } from 'node:path';
import { type Service, startScript } from '../../infra/service.ts';
import type { StoredDocument } from '../../services/projector/materialize/store.ts';
import { readRegistry } from '../../shared/control/generations.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { fold } from '../convergence/fold.ts';
import { readDocuments } from '../convergence/read-documents.ts';
import type { Event } from '../support/events.ts';
import { eventually } from '../support/eventually.ts';
import { logEnds, reached } from '../support/progress.ts';
import { createTestEnvironment } from '../support/test-environment.ts';
import { useOpened } from '../support/use-opened.ts';
import { type LiveTraffic, startLiveTraffic } from './live-traffic.ts';
import { type Edit, nextRelease } from './next-release.ts';

/** Set `SEED` to reproduce a failure. */
const seed = Number(process.env.SEED ?? 1);

/**
 * An additive change: contacts have a company, tickets show it, and the colors of their topics over an edge of its own.
 */
const edits: Edit[] = [
  {
    file: 'shared/documents/embedded.ts',
    find: '{ name: optional(name), email: optional(z.object(',
    replace: '{ name: optional(name), company: optional(name), email: optional(z.object(',
  },
  {
    file: 'services/projector/projections/ticket.ts',
    find: "(state) => state.requesterId, 'name', 'email')",
    replace: "(state) => state.requesterId, 'name', 'email', 'company')",
  },
  {
    file: 'services/projector/projections/ticket.ts',
    find: '      conversations,\n      // A conversation',
    replace:
      "      conversations,\n      colors: many('topic', (state) => state.topicIds, 'id', 'color'),\n      // A conversation",
  },
  {
    file: 'services/projector/projections/ticket.ts',
    find: '({ requester, tags, topics, conversations, channels }): TicketJoined => {',
    replace: '({ requester, tags, topics, conversations, channels, colors }): TicketJoined => {',
  },
  {
    file: 'services/projector/projections/ticket.ts',
    find: 'requester,\n      tags,\n      topics,\n      moreAfter',
    replace: 'requester,\n      tags,\n      topics,\n      ...({ colors }),\n      moreAfter',
  },
];

const company = ({ id, version }: Event) => `${id} at ${version}`;
const withCompany = (event: Event): Event =>
  event.kind === 'contact' && event.data
    ? { ...event, data: { ...event.data, company: company(event) } }
    : event;
const withoutCompany = (event: Event): Event => {
  if (event.kind !== 'contact' || !event.data) return event;
  const { company: _company, ...data } = event.data as { company?: string } & typeof event.data;
  return { ...event, data };
};

type Ticket = { requester?: { company?: string } | null; colors?: unknown };

/** A document of the next release without the fields that only that release knows. */
function asBefore(document: Record<string, unknown>): unknown {
  const { state, joined, refs } = structuredClone(document) as {
    state: { company?: string };
    joined: Ticket;
    refs?: string[];
  };
  delete state.company;
  delete joined.colors;
  delete joined.requester?.company;
  return { ...document, state, joined, refs: refs?.filter((ref) => !ref.startsWith('colors:')) };
}

describe(`an additive change of documents, under live traffic (seed ${seed})`, () => {
  let traffic: LiveTraffic;
  let projectors: Service[] = [];
  // Jest runs hooks in the order of their definition: the services stop before their databases are dropped.
  afterAll(async () => {
    await traffic.stop();
    await Promise.all(projectors.map((service) => service.stop()));
  });
  const next = useOpened(() => nextRelease(edits));
  const environment = useOpened(() => createTestEnvironment(2));

  const settings = () => ({ ...environment.environment, LOG_LEVEL: 'info', GENERATION: '1' });
  /** Starts two projectors of a release, and then stops those of the other one. */
  const deploy = async (folder: string) => {
    const started = [1, 2].map(() => startScript(join(folder, 'services/projector/main.ts'), settings()));
    await Promise.all(started.map((service) => service.logged('projecting')));
    await Promise.all(projectors.map((service) => service.stop()));
    projectors = started;
  };
  const cli = async (folder: string, ...args: string[]) => {
    const service = startScript(join(folder, 'services/cli/main.ts'), settings(), [...args, '--json']);
    const code = await service.exited;
    return { code, output: JSON.parse(service.stdout() || '{}') as Record<string, unknown> };
  };
  const saved = () => environment.control.collection<{ after: string }>('refreshes').findOne({});
  /** Kills a refresh of the next release after its first batch. */
  const interruptRefresh = async () => {
    const refreshing = startScript(join(next.folder, 'services/cli/main.ts'), settings(), [
      ...['refresh', 'ticket', '--all', '--pace', '5'],
    ]);
    await eventually(async () => Boolean((await saved())?.after) || refreshing.stderr());
    await refreshing.stop('SIGKILL');
  };
  const failures = () => projectors.flatMap((service) => service.failures());
  const published = (count: number) =>
    eventually(() => traffic.published.length >= count || traffic.published.length);
  const allApplied = async () =>
    reached(environment.control, await logEnds(environment.admin, environment.topics), failures);
  const tickets = async (filter: object) =>
    collectionOf<StoredDocument>(environment.database, 'ticket').countDocuments({
      ...filter,
      state: { $exists: true },
    });

  test('the release before fills the generation', async () => {
    await deploy('.');
    traffic = startLiveTraffic(environment, seed * 1_000, withCompany);
    await published(1_000);
    expect(await tickets({ 'joined.colors': { $exists: true } })).toBe(0);
  });

  test('the next release follows the same generation, and a refresh brings its joined fields to all documents', async () => {
    await deploy(next.folder);
    const lacking = await tickets({ 'joined.colors': { $exists: false } });
    expect(lacking).toBeGreaterThan(0);
    const refreshed = await cli(next.folder, 'refresh', 'ticket', '--all', '--why', 'tickets show colors');
    expect(refreshed).toMatchObject({ code: 0, output: { kind: 'ticket', left: 0, absent: [] } });
    expect(refreshed.output.changed).toBeGreaterThan(0);
    expect(await tickets({ 'joined.colors': { $exists: false } })).toBe(0);
    expect(await cli(next.folder, 'verify')).toMatchObject({ code: 0, output: { differences: 0 } });
    const history = (await readRegistry(environment.control))?.history ?? [];
    expect(history.at(-1)?.why).toMatch(
      /^refreshed: [\d,]+ of [\d,]+ ticket documents changed; tickets show colors$/,
    );
  });

  test('the release before takes over again, and loses the new fields alone', async () => {
    await interruptRefresh();
    await deploy('.');
    // The documents that it writes lack the new fields: the interrupted refresh begins again.
    expect(await saved()).toBeNull();
    await published(traffic.published.length + 500);
    await traffic.pause();
    await allApplied();
    const documents = await readDocuments(environment.database);
    const seen = Object.entries(documents).map(([id, one]) => [id, asBefore(one as Record<string, unknown>)]);
    expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(fold(traffic.published.map(withoutCompany))));
    traffic.resume();
  });

  test('forward again, a refresh completes the documents that the release before has written', async () => {
    await deploy(next.folder);
    // An interruption and another run are as good as one run.
    await interruptRefresh();
    const continued = await cli(next.folder, 'refresh', 'ticket', '--all');
    expect(continued).toMatchObject({ code: 0, output: { left: 0 } });
    expect(continued.output.continuedAfter).toMatch(/^ti_/);
    expect(await saved()).toBeNull();
    await traffic.stop();
    await allApplied();
    expect(await cli(next.folder, 'refresh', 'ticket', '--all', '--dry-run')).toMatchObject({
      code: 0,
      output: { changed: 0 },
    });
    expect(await cli(next.folder, 'verify')).toMatchObject({ code: 0, output: { differences: 0 } });
    const documents = await readDocuments(environment.database);
    const seen = Object.entries(documents).map(([id, one]) => [id, asBefore(one as Record<string, unknown>)]);
    expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(fold(traffic.published.map(withoutCompany))));
  });
});
