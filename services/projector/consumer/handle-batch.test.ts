import type { EachBatchPayload } from 'kafkajs';
import { pino } from 'pino';
import { createAssignment } from './assignment.ts';
import { createPositions } from './positions.ts';
import { handleBatch } from './handle-batch.ts';

const logger = pino({ level: 'silent' });

/** One partition of topic `t`, and the calls that kafkajs receives. */
function given() {
  const applied: number[] = [];
  const assignment = createAssignment({
    queuedBytesMax: 1_000_000,
    apply: async (_, records) => {
      applied.push(...records.map(({ position }) => position.offset));
      return { events: records.length, rejected: 0, times: [] };
    },
    positions: createPositions(() => 0),
    prerequisitesOf: () => [],
    onApplied: () => undefined,
    logger,
  });
  const [worker] = assignment.replace({ t: [0] });
  if (!worker) throw new Error('nothing was assigned');
  const seeks: string[] = [];
  const resolved: string[] = [];
  const consumer = { seek: ({ offset }: { offset: string }) => void seeks.push(offset) };
  /** Delivers a batch that was fetched from `from`, holds these offsets, and ends at `to`. */
  const deliver = (from: number, offsets: number[], to: number, isStale = false) => {
    const messages = offsets.map((offset) => ({
      key: null,
      value: null,
      timestamp: '0',
      offset: `${offset}`,
    }));
    const batch = { topic: 't', partition: 0, fetchedOffset: `${from}`, messages, lastOffset: () => `${to}` };
    const payload = {
      batch,
      isStale: () => isStale,
      isRunning: () => true,
      resolveOffset: (offset: string) => void resolved.push(offset),
      pause: () => () => undefined,
    };
    handleBatch({ logger }, consumer, assignment, payload as unknown as EachBatchPayload);
  };
  return { assignment, worker, applied, seeks, resolved, deliver };
}

const idle = () => new Promise((resolve) => setImmediate(resolve));

describe('a fetched batch', () => {
  it('is dropped before its partition has a start offset', async () => {
    const { worker, applied, resolved, deliver } = given();
    deliver(0, [0, 1], 1);
    await idle();
    expect({ applied, resolved, position: worker.position }).toEqual({
      applied: [],
      resolved: [],
      position: null,
    });
  });

  it('is applied if it was fetched from the next offset', async () => {
    const { worker, applied, resolved, deliver } = given();
    worker.start(5);
    deliver(5, [5, 7], 8);
    await idle();
    expect({ applied, resolved, position: worker.position }).toEqual({
      applied: [5, 7],
      resolved: ['8'],
      position: 9,
    });
  });

  it('advances the position although it holds only control records', async () => {
    const { worker, applied, resolved, deliver } = given();
    worker.start(5);
    deliver(5, [], 6);
    await idle();
    expect({ applied, resolved, position: worker.position }).toEqual({
      applied: [],
      resolved: ['6'],
      position: 7,
    });
  });

  it.each([
    ['before', 0, [0, 1], 1],
    ['after', 9, [9], 9],
    ['after, with control records only,', 9, [], 9],
  ])(
    'fetched from %s the next offset is not applied, and the next offset is fetched again',
    async (_, from, offsets, to) => {
      const { assignment, worker, applied, seeks, resolved, deliver } = given();
      worker.start(5);
      assignment.committedOffsets.set('t/0', 5);
      deliver(from, offsets, to);
      await idle();
      expect({ applied, seeks, resolved, position: worker.position }).toEqual({
        applied: [],
        seeks: ['5'],
        resolved: [],
        position: 5,
      });
      // and the offset is committed again, since kafkajs may have committed another
      expect(assignment.committedOffsets.has('t/0')).toBe(false);
    },
  );

  it('is dropped if a seek has happened since', async () => {
    const { worker, applied, resolved, deliver } = given();
    worker.start(5);
    deliver(5, [5], 5, true);
    await idle();
    expect({ applied, resolved }).toEqual({ applied: [], resolved: [] });
  });
});
