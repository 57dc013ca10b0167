import { join } from 'node:path';
import { type Service, startScript } from '../../infra/service.ts';
import type { StoredDocument } from '../../services/projector/materialize/store.ts';
import { readRegistry } from '../../shared/control/generations.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { fold } from '../convergence/fold.ts';
import { readDocuments } from '../convergence/read-documents.ts';
import type { Event } from '../support/events.ts';
import { eventually, notYet } from '../support/eventually.ts';
import { logEnds, reached } from '../support/progress.ts';
import { createTestEnvironment } from '../support/test-environment.ts';
import { useOpened } from '../support/use-opened.ts';
import { type LiveTraffic, startLiveTraffic } from './live-traffic.ts';
import { type Edit, nextRelease } from './next-release.ts';

/** Set `SEED` to reproduce a failure. */
const seed = Number(process.env.SEED ?? 1);

/** An additive change: contacts get a company, and tickets show that company and the colors of their topics. */
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

const companyOf = ({ id, version }: Event) => `${id} at ${version}`;
const withCompany = (event: Event): Event => {
  if (event.kind !== 'contact' || !event.data) return event;
  return { ...event, data: { ...event.data, company: companyOf(event) } };
};
const withoutCompany = (event: Event): Event => {
  if (event.kind !== 'contact' || !event.data) return event;
  const { company: _company, ...data } = event.data as { company?: string } & typeof event.data;
  return { ...event, data };
};

type Ticket = { requester?: { company?: string } | null; colors?: unknown };

/** A document without the fields that only the next release knows. */
function withoutNewFields(document: Record<string, unknown>): unknown {
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

describe(`an additive change of documents under live traffic (seed ${seed})`, () => {
  let traffic: LiveTraffic;
  let projectors: Service[] = [];
  // Jest runs hooks in the order of their definition: the services stop before their databases are dropped.
  afterAll(async () => {
    await traffic.stop();
    await Promise.all(projectors.map((service) => service.stop()));
  });
  const next = useOpened(() => nextRelease(edits));
  const environment = useOpened(() => createTestEnvironment(2));

  const settings = () => ({ ...environment.variables, LOG_LEVEL: 'info', GENERATION: '1' });
  /** Starts two projectors of a release, and then stops the projectors of the other release. */
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
  /** Kills a repair of the next release after its first progress, and returns the last id that it printed. */
  const interruptRepair = async () => {
    const script = join(next.folder, 'services/cli/main.ts');
    const verb = ['verify', 'ticket', '--repair', '--pace', '5'];
    const repairing = startScript(script, settings(), verb);
    const printed = () => /after (ti_\S+)/.exec(repairing.stderr())?.[1];
    await eventually(() => printed() !== undefined || notYet(repairing.stderr()));
    await repairing.stop('SIGKILL');
    return printed() ?? '';
  };
  const failures = () => projectors.flatMap((service) => service.failures());
  const untilPublished = (count: number) =>
    eventually(() => traffic.published.length >= count || notYet(traffic.published.length));
  const untilApplied = async () => {
    const { admin, control, topics } = environment;
    await reached(control, await logEnds(admin, topics), failures);
  };
  const countTickets = (filter: object) =>
    collectionOf<StoredDocument>(environment.database, 'ticket').countDocuments({
      ...filter,
      state: { $exists: true },
    });

  test('the previous release fills the generation', async () => {
    await deploy('.');
    traffic = startLiveTraffic(environment, seed * 1_000, withCompany);
    await untilPublished(1_000);
    expect(await countTickets({ 'joined.colors': { $exists: true } })).toBe(0);
  });

  test('a repair by the next release adds its joined fields to all documents of the generation', async () => {
    await deploy(next.folder);
    const lacking = await countTickets({ 'joined.colors': { $exists: false } });
    expect(lacking).toBeGreaterThan(0);
    const repaired = await cli(next.folder, 'verify', 'ticket', '--repair', '--why', 'tickets show colors');
    expect(repaired).toMatchObject({ code: 0, output: { absent: [] } });
    expect(repaired.output.repaired).toBeGreaterThan(0);
    expect(await countTickets({ 'joined.colors': { $exists: false } })).toBe(0);
    expect(await cli(next.folder, 'verify')).toMatchObject({ code: 0, output: { differing: 0 } });
    const registry = await readRegistry(environment.control);
    expect(registry?.history.at(-1)?.why).toMatch(
      /^verify --repair: [\d,]+ of [\d,]+ ticket documents repaired; tickets show colors$/,
    );
  });

  /** Expects that all documents equal the fold of the log, apart from the fields that only the next release knows. */
  const expectFold = async () => {
    const documents: Record<string, unknown> = {};
    for (const [id, document] of Object.entries(await readDocuments(environment.database)))
      documents[id] = withoutNewFields(document as Record<string, unknown>);
    const events = traffic.published.map(withoutCompany);
    expect(documents).toEqual(Object.fromEntries(fold(events)));
  };

  test('a return to the previous release loses only the new fields', async () => {
    await interruptRepair();
    await deploy('.');
    await untilPublished(traffic.published.length + 500);
    await traffic.pause();
    await untilApplied();
    await expectFold();
    traffic.resume();
  });

  test('a second deployment of the next release completes all documents by a repair', async () => {
    await deploy(next.folder);
    // The second run continues after the id at which the first was interrupted.
    const after = await interruptRepair();
    const repaired = await cli(next.folder, 'verify', 'ticket', '--repair', '--after', after);
    expect(repaired).toMatchObject({ code: 0 });
    await traffic.stop();
    await untilApplied();
    expect(await cli(next.folder, 'verify')).toMatchObject({ code: 0, output: { differing: 0 } });
    await expectFold();
  });
});
