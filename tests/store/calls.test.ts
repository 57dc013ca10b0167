import { mongoStore } from '../../services/projector/materialize/mongo-store.ts';
import { applyChanges, changeOf, engineDeps } from '../support/engine.ts';
import { created } from '../support/entities.ts';
import type { Event } from '../support/events.ts';
import { useEngineStore } from './engine-store.ts';

const records = 250;
/** A batch of conversations takes the most: 21, because it refreshes their tickets. */
const commandsMax = 30;
/** Commands of one more page of a cursor, or one more round. */
const slack = 3;

type ReferringKind = 'ticket' | 'conversation' | 'message';

/** The references of each record: entities of its own, so that organizations share none. */
const references: Record<ReferringKind, (suffix: string) => Record<string, unknown>> = {
  ticket: (suffix) => ({
    requesterId: `con_${suffix}`,
    tagIds: [`tag_${suffix}`],
    topicIds: [`topic_${suffix}`],
  }),
  conversation: (suffix) => ({
    ticketId: `ti_${suffix}`,
    channelId: `chan_${suffix}`,
    contactId: `con_${suffix}`,
    tagIds: [`tag_${suffix}`],
  }),
  message: (suffix) => ({
    conversationId: `conv_${suffix}`,
    author: { type: 'contact', id: `con_${suffix}` },
  }),
};
const prefixes = { ticket: 'ti_', conversation: 'conv_', message: 'msg_' };

describe(`a batch of ${records} records`, () => {
  const opened = useEngineStore();

  const eventsOf = (kind: ReferringKind, organizations: number, version: number): Event[] =>
    Array.from({ length: records }, (_, index) => {
      const suffix = `${organizations}_${index}`;
      const event = created(kind, `${prefixes[kind]}${suffix}`, references[kind](suffix), version);
      return { ...event, orgId: `org_${index % organizations}` };
    });
  /** The number of commands that a newly started projector sends. */
  const commands = async (events: Event[]) => {
    const store = mongoStore(opened.database);
    const watched = opened.watch();
    const deps = engineDeps(store, { isApplied: () => true });
    await applyChanges(
      deps,
      events[0]?.kind ?? 'tag',
      events.map((event) => changeOf(event)),
    );
    return watched.commands();
  };

  it.each<ReferringKind>(['conversation', 'ticket', 'message'])(
    'of %ss takes as many commands for one organization as for one organization each',
    async (kind) => {
      const one: number[] = [];
      const each: number[] = [];
      for (const version of [1, 2]) {
        one.push(await commands(eventsOf(kind, 1, version)));
        each.push(await commands(eventsOf(kind, records, version)));
      }
      for (const [index, count] of one.entries())
        expect(Math.abs(count - (each[index] ?? 0))).toBeLessThanOrEqual(slack);
      expect(Math.max(...one)).toBeLessThan(commandsMax);
    },
  );
});
