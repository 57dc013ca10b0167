import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { examples, type Kind, kinds, resources, states } from '../../../shared/documents/resources.ts';
import { projectionVersion, servedVersions } from '../../../shared/control/generations.ts';
import { goldenOf } from '../../../tests/support/golden.ts';
import { given, living } from '../../../tests/support/example-join.ts';

/** Documents in a file never change: a new version has a file of its own. */
const folder = join(__dirname, 'golden');
const path = join(folder, `version-${projectionVersion}.json`);

/** Values for the references of the examples, so that every edge finds its entity. */
const references: { [K in Kind]?: Record<string, unknown> } = {
  ticket: { requesterId: 'con_1', tagIds: ['tag_1'], topicIds: ['topic_1'] },
  conversation: {
    ticketId: 'ti_1',
    channelId: 'chan_1',
    contactId: 'con_1',
    assignedUserId: 'user_1',
    tagIds: ['tag_1'],
    topicIds: ['topic_1'],
  },
  channel: { agentId: 'agent_1' },
  message: { conversationId: 'conv_1', author: { type: 'contact', id: 'con_1' } },
};

/** The documents of this code: each kind alone, and with everything that it refers to. */
function documents() {
  const others = [
    living('contact'),
    living('user'),
    living('agent'),
    living('tag'),
    living('topic'),
    living('channel', { dataRetentionDays: 30 }),
    living('ticket'),
    living('conversation', references.conversation),
  ];
  return Object.fromEntries(
    kinds.map((kind) => {
      const changes = references[kind] ?? {};
      const state = states[kind].parse({ ...examples[kind], ...changes });
      const sortKeys = (resources[kind].sortKeys as (of: typeof state) => object)(state);
      const [alone, joined] = [given(), given(...others)].map((one) => one.whenJoined(kind, changes));
      return [kind, { state, sortKeys, alone, joined }];
    }),
  );
}

const actual = JSON.parse(JSON.stringify(documents())) as Record<Kind, unknown>;

test.each(kinds)(`documents of %s are those of projection version ${projectionVersion}`, async (kind) => {
  const golden = await goldenOf(path, { [kind]: actual[kind] });
  // If this fails, stored documents change: raise `projectionVersion` in shared/control/generations.ts, then write the new
  // file with UPDATE_GOLDEN=1. docs/rebuilding.md says how such a change is deployed.
  expect(actual[kind]).toEqual(golden[kind]);
});

test('the API serves the version of each file: a file goes when `servedVersions` no longer names its version', async () => {
  const files = servedVersions.map((version) => `version-${version}.json`);
  expect((await readdir(folder)).toSorted()).toEqual(files.toSorted());
});
