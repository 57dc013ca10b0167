import { snapshot } from '../../../tests/support/snapshot.ts';
import { startPartition } from '../../../tests/support/start-partition.ts';
import { commitOffsets } from './consumer.ts';

const snapshotAt = (partition: number, position: number) => snapshot({ partition, position });

describe('a commit', () => {
  test('contains the moved positions of the partitions that are still assigned', async () => {
    const commitToBroker = jest.fn(async () => undefined);
    const consumer = { commitOffsets: commitToBroker };
    const partition = startPartition(0, { apply: () => new Promise(() => undefined) });
    partition.commitAgain();
    const assigned = new Map([['t/0', partition]]);
    const assignment = { partition: (key: string) => assigned.get(key) };
    // The snapshots are older than the assignment of partition 1 to another member.
    const snapshots = [snapshotAt(0, 3), snapshotAt(1, 5)];
    await commitOffsets(consumer, assignment, snapshots);
    expect(commitToBroker.mock.calls).toEqual([[[{ topic: 't', partition: 0, offset: '3' }]]]);
    // A second commit of the same snapshots sends nothing.
    await commitOffsets(consumer, assignment, snapshots);
    expect(commitToBroker).toHaveBeenCalledTimes(1);
  });
});
