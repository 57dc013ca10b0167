import { mongoStore } from '../../services/projector/materialize/mongo-store.ts';
import { applyChanges, changeOf, engineDeps } from '../support/engine.ts';
import { created } from '../support/entities.ts';
import { idPrefixes } from '../support/events.ts';
import { useEngineStore } from './engine-store.ts';

const records = 250;
/** A batch of conversations needs the most commands, namely 21, because the engine also refreshes their tickets. */
const commandsMax = 30;

/** References of one organization. The schema of each kind ignores the fields of the other kinds. */
const referencesOf = (index: number) => ({
  requesterId: `con_${index}`,
  contactId: `con_${index}`,
  author: { type: 'contact', id: `con_${index}` },
  tagIds: [`tag_${index}`],
  topicIds: [`topic_${index}`],
  ticketId: `ti_${index}`,
  channelId: `chan_${index}`,
  conversationId: `conv_${index}`,
});

describe(`a batch of ${records} records of ${records} organizations`, () => {
  const opened = useEngineStore();

  test.each(['conversation', 'ticket', 'message'] as const)('needs few commands for %ss', async (kind) => {
    let commands = 0;
    opened.mongo.on('commandStarted', () => {
      commands += 1;
    });
    // Version 1 inserts the documents, and version 2 updates them.
    for (const version of [1, 2]) {
      commands = 0;
      const changes = Array.from({ length: records }, (_, index) => {
        const event = created(kind, `${idPrefixes[kind]}${index}`, referencesOf(index), version);
        return changeOf({ ...event, orgId: `org_${index}` });
      });
      // New dependencies for each batch, as if the projector had just started.
      const deps = engineDeps(mongoStore(opened.database), { isApplied: () => true });
      await applyChanges(deps, kind, changes);
      expect(commands).toBeLessThan(commandsMax);
    }
  });
});
