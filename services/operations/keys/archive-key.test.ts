import { apiKeyState } from '../../../shared/documents/api-key.ts';
import { examples } from '../../../tests/support/example-states.ts';
import { archiveKey } from './archive-key.ts';

test('the event of an archived key is its second version, of the instant of the archiving', async () => {
  const state = { ...apiKeyState.parse(examples.apiKey), archivedAt: null };
  const send = jest.fn().mockResolvedValue([]);
  const now = async () => new Date('2026-03-01T00:00:00Z');
  const deps = { producer: { send }, topicPrefix: 'support.', now };
  const archivedAt = await archiveKey(deps, { _id: state.id, orgId: 'org_1', state });
  const [[{ messages }]] = send.mock.calls as [[{ messages: { value: string }[] }]];
  const event = { entityversion: 2, time: '2026-03-01T00:00:00.000Z', data: { archivedAt } };
  expect(messages.map(({ value }) => JSON.parse(value) as unknown)).toMatchObject([event]);
});
