import { measurePartitions, sumByTopic } from './partitions.ts';
import { type Progress } from '../../shared/control/progress.ts';

const at = new Date('2026-11-24T12:00:00Z');
const progress = [0, 1].map((partition) => ({
  ...{ generation: 1, topic: 'tags', partition, position: 5, end: 9, cause: 'backlog' as const },
  ...{ completeTo: at, updatedAt: at, waitingSince: null, release: '1' },
})) as unknown as Progress[];
const members = [{ memberId: 'm', clientId: 'c', host: 'h', partitions: ['tags/1'], otherProtocol: null }];
const causes = (ends: [string, number][] | null, owners: typeof members | null) => {
  const { partitions } = measurePartitions({
    generation: { number: 1, projectionVersion: 1, state: 'active', since: at, registeredAt: at },
    ...{ topics: ['tags'], progress, members: owners, recreated: [], earlier: null, lagOf: () => 134 },
    log: ends && {
      partitions: ['tags/0', 'tags/1'],
      ends: new Map(ends.map(([key, end]) => [key, { low: 0, end, stable: end }])),
      ...{ topicIds: new Map(), unreachable: [] },
    },
  });
  return { causes: partitions.map(({ cause }) => cause), topic: sumByTopic(partitions)[0]?.cause };
};
const ends = (first: number, second: number): [string, number][] => [
  ['tags/0', first],
  ['tags/1', second],
];

test.each([
  ['without an answer of Kafka: unknown', null, null, ['unreadable', 'unreadable'], 'unreadable'],
  ['of an applied log without a projector', ends(5, 5), [], ['unassigned', 'unassigned'], 'unassigned'],
  ['of the partition that has one, not of the oldest', ends(5, 9), null, [null, 'backlog'], 'backlog'],
  ['of one partition without a projector', ends(5, 5), members, ['unassigned', null], 'unassigned'],
])('the cause %s', (_, log, owners, expected, topic) => {
  expect(causes(log, owners)).toEqual({ causes: expected, topic });
});
