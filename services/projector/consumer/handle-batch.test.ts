import type { EachBatchPayload } from 'kafkajs';
import { pino } from 'pino';
import type { KafkaRecord } from '../events/change.ts';
import { rawBatch } from '../../../tests/support/example-responses.ts';
import { createAssignment } from './assignment.ts';
import { createPositions } from './positions.ts';
import { handleBatch } from './handle-batch.ts';

const logger = pino({ level: 'silent' });

/** One partition of topic `t`, and the calls that kafkajs receives. */
function given() {
  const applied: number[] = [];
  const positions = createPositions(() => 0);
  const fetching: string[] = [];
  const deps = {
    queuedBytesMax: 1_000_000,
    apply: async (_: string, records: KafkaRecord[]) => {
      applied.push(...records.map(({ position }) => position.offset));
      return { events: records.length, rejected: 0, times: [] };
    },
    positions,
    prerequisitesOf: () => [],
    onApplied: () => undefined,
    logger,
  };
  const assignment = createAssignment(deps, {
    pause: () => void fetching.push('paused'),
    resume: () => void fetching.push('resumed'),
  });
  const [worker] = assignment.replace({ t: [0] });
  if (!worker) throw new Error('nothing was assigned');
  const seeks: string[] = [];
  const resolved: string[] = [];
  const consumer = { seek: ({ offset }: { offset: string }) => void seeks.push(offset) };
  /** Delivers one batch for each record that was fetched from `from`, holds these offsets, and ends at `to`. */
  const deliver = (from: number, offsets: number[], to: number, isStale = false) => {
    const messages = offsets.map((offset) => ({
      offset: `${offset}`,
      batch: rawBatch({ baseOffset: offset, lastOffset: offset, records: [{ offset }] }),
    }));
    const batch = { topic: 't', partition: 0, fetchedOffset: `${from}`, messages, lastOffset: () => `${to}` };
    const payload = {
      batch,
      isStale: () => isStale,
      isRunning: () => true,
      resolveOffset: (offset: string) => void resolved.push(offset),
    };
    handleBatch({ logger }, consumer, assignment, payload as unknown as EachBatchPayload);
  };
  return { assignment, positions, fetching, worker, applied, seeks, resolved, deliver };
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

  it('is applied up to the end of the load only, and the rest is fetched after the load', async () => {
    const { positions, fetching, worker, applied, resolved, deliver } = given();
    positions.load(new Map([['t/0', 7]]));
    worker.start(5);
    deliver(5, [5, 6, 9, 10], 11);
    const position = () => worker.position;
    while (position() !== 9) await idle();
    expect({ applied, resolved, fetching }).toEqual({
      applied: [5, 6],
      resolved: ['8'],
      fetching: ['paused'],
    });
    positions.load(null);
    expect(fetching).toEqual(['paused', 'resumed']);
    deliver(9, [9, 10], 11);
    while (position() !== 12) await idle();
    expect(applied).toEqual([5, 6, 9, 10]);
  });
});
