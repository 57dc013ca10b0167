import { mongoStore } from '../../services/projector/materialize/mongo-store.ts';
import { applyChanges, changeOf, engineDeps } from '../support/engine.ts';
import { created } from '../support/entities.ts';
import { idPrefixes } from '../support/events.ts';
import { useEngineStore } from './engine-store.ts';

const records = 250;
/** A batch of conversations takes the most: 21, because it refreshes their tickets. */
const commandsMax = 30;

/** References that no other organization shares. Each kind takes the fields that it has. */
const references = (index: number) => ({
  requesterId: `con_${index}`,
  contactId: `con_${index}`,
  author: { type: 'contact', id: `con_${index}` },
  tagIds: [`tag_${index}`],
  topicIds: [`topic_${index}`],
  ticketId: `ti_${index}`,
  channelId: `chan_${index}`,
  conversationId: `conv_${index}`,
});

describe(`a batch of ${records} records, each of an organization of its own`, () => {
  const opened = useEngineStore();

  it.each(['conversation', 'ticket', 'message'] as const)('of %ss takes few commands', async (kind) => {
    let commands = 0;
    opened.mongo.on('commandStarted', () => (commands += 1));
    for (const version of [1, 2]) {
      commands = 0;
      const changes = Array.from({ length: records }, (_, index) => {
        const event = created(kind, `${idPrefixes[kind]}${index}`, references(index), version);
        return changeOf({ ...event, orgId: `org_${index}` });
      });
      // As of a projector that has just started.
      const deps = engineDeps(mongoStore(opened.database), { isApplied: () => true });
      await applyChanges(deps, kind, changes);
      expect(commands).toBeLessThan(commandsMax);
    }
  });
});
