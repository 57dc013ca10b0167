import { snapshot } from '../../../tests/support/snapshot.ts';
import { startPartition } from '../../../tests/support/start-partition.ts';
import { commitOffsets } from './consumer.ts';

const snapshotAt = (partition: number, position: number) => snapshot({ partition, position });

describe('a commit', () => {
  test('contains the moved positions of the partitions that are still assigned', async () => {
    const requests: unknown[] = [];
    const consumer = { commitOffsets: async (offsets: unknown) => void requests.push(offsets) };
    const partition = startPartition(0, { apply: () => new Promise(() => undefined) });
    partition.commitAgain();
    const assignment = { partition: (key: string) => (key === 't/0' ? partition : undefined) };
    // The snapshot is older than the assignment of partition 1 to another member.
    await commitOffsets(consumer, assignment, [snapshotAt(0, 3), snapshotAt(1, 5)]);
    expect(requests).toEqual([[{ topic: 't', partition: 0, offset: '3' }]]);
    // A second commit of the same snapshot sends nothing.
    await commitOffsets(consumer, assignment, [snapshotAt(0, 3), snapshotAt(1, 5)]);
    expect(requests).toHaveLength(1);
  });
});
