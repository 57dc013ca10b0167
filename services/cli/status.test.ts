import type { Status } from '../operations/status/status.ts';
import { renderStatus } from './status.ts';

const status: Status = {
  generation: 2,
  watermark: '2026-01-01T00:00:00.000Z',
  partitions: [],
  warnings: [],
  documents: { tickets: 12_345 },
  pending: { conversations: 3, tickets: 0 },
  deadLetters: 7,
};

it('says which figures are estimates, and which are incomplete', () => {
  const text = renderStatus(status);
  expect(text).toMatch(/^dead letters {2}7$/m);
  expect(text).toMatch(/^pending {7}3 conversations, 0 tickets$/m);
  expect(text).toMatch(/^documents {2}estimate\ntickets {7}12345$/m);
  const one = renderStatus({ ...status, pending: { conversations: 1, tickets: 1 } });
  expect(one).toMatch(/^pending {7}1 conversation, 1 ticket$/m);
  const incomplete = renderStatus({ ...status, pending: { conversations: 10_000, tickets: null } });
  expect(incomplete).toMatch(/^pending {7}10000 or more conversations, unknown \(too many\) tickets$/m);
});

it('says that the end and the lag of a partition without a leader are unknown', () => {
  const partitions = [{ topic: 'tags', partition: 1, position: 7, end: null, lag: null }];
  expect(renderStatus({ ...status, partitions })).toMatch(/^tags +1 +7 +unknown +unknown$/m);
});
