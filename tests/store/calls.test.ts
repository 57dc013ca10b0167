import { applyChanges } from '../../services/projector/materialize/apply-changes.ts';
import { mongoStore } from '../../services/projector/materialize/mongo-store.ts';
import { changeOf, engineDeps } from '../support/engine.ts';
import { created } from '../support/entities.ts';
import type { Event } from '../support/events.ts';
import { openEngineStore, type EngineStore } from './engine-store.ts';

const records = 250;
/** A run of conversations takes most: 21, as it refreshes their tickets. */
const commandsMax = 30;
/** Commands that a page of a cursor or a round more may take. */
const slack = 3;

type Of = 'ticket' | 'conversation' | 'message';

/** What each kind refers to, one for each record, so that nothing is shared between organizations. */
const references: Record<Of, (of: string) => Record<string, unknown>> = {
  ticket: (of) => ({ requesterId: `con_${of}`, tagIds: [`tag_${of}`], topicIds: [`topic_${of}`] }),
  conversation: (of) => ({
    ...{ ticketId: `ti_${of}`, channelId: `chan_${of}`, contactId: `con_${of}`, tagIds: [`tag_${of}`] },
  }),
  message: (of) => ({ conversationId: `conv_${of}`, author: { type: 'contact', id: `con_${of}` } }),
};
const prefixes = { ticket: 'ti_', conversation: 'conv_', message: 'msg_' };

describe(`a run of ${records} records`, () => {
  let opened: EngineStore;

  beforeAll(async () => {
    opened = await openEngineStore();
  }, 120_000);
  afterAll(() => opened.close(), 60_000);

  const runOf = (kind: Of, organizations: number, version: number): Event[] =>
    Array.from({ length: records }, (_, index) => {
      const of = `${organizations}_${index}`;
      const event = created(kind, `${prefixes[kind]}${of}`, references[kind](of), version);
      return { ...event, orgId: `org_${index % organizations}` };
    });
  /** The commands that a projector sends, which has met nothing of the kind before. */
  const commands = async (events: Event[]) => {
    const store = mongoStore(opened.database);
    const asked = opened.watch();
    const deps = engineDeps(store, { isApplied: () => true });
    await applyChanges(
      deps,
      events[0]?.kind ?? 'tag',
      events.map((event) => changeOf(event)),
    );
    return asked.commands();
  };

  it.each<Of>(['conversation', 'ticket', 'message'])(
    'of %ss asks the store as often for one organization as for one each',
    async (kind) => {
      const one: number[] = [];
      const each: number[] = [];
      for (const version of [1, 2]) {
        one.push(await commands(runOf(kind, 1, version)));
        each.push(await commands(runOf(kind, records, version)));
      }
      for (const [index, count] of one.entries())
        expect(Math.abs(count - (each[index] ?? 0))).toBeLessThanOrEqual(slack);
      expect(Math.max(...one)).toBeLessThan(commandsMax);
    },
    60_000,
  );
});
