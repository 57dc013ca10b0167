import fc from 'fast-check';
import { type BatchHeader, createAbortFilter } from './fetch-decoder.ts';

describe('aborted transactions', () => {
  test('are exactly the omitted records, in any interleaving of producers and from any offset', () => {
    const steps = fc.array(
      fc.tuple(fc.nat(3), fc.constantFrom('write', 'write', 'outside', 'commit', 'abort')),
      { maxLength: 40, size: 'max' },
    );
    fc.assert(
      fc.property(steps, fc.nat(40), (randomSteps, from) => {
        const { log, aborts, committed } = written(randomSteps);
        const listed = aborts.filter(({ lastOffset }) => lastOffset >= from);
        const isAborted = createAbortFilter(listed);
        const deliveredBatches = log
          .filter(({ header }) => header.lastOffset >= from)
          .filter(({ header, key }) => !isAborted(header, key) && !header.isControl);
        expect(deliveredBatches.map(({ header }) => Number(header.lastOffset))).toEqual(
          committed.filter((offset) => offset >= from),
        );
      }),
    );
  });
});

/** The key of the control record that ends an aborted transaction. A record may have the same. */
const abortKey = Buffer.alloc(4);

/** The log that these steps of producers write, its aborts as a broker lists them, and the committed offsets. */
function written(steps: [number, string][]) {
  const log: { header: BatchHeader; key: Buffer | null }[] = [];
  const open = new Map<number, number[]>();
  const aborts: { producerId: bigint; firstOffset: bigint; lastOffset: bigint }[] = [];
  const committed: number[] = [];
  const append = (producer: number, key: Buffer, flags = { isTransactional: true, isControl: false }) => {
    log.push({ header: { lastOffset: BigInt(log.length), producerId: BigInt(producer), ...flags }, key });
    return log.length - 1;
  };
  const all = [...steps, ...[0, 1, 2, 3].map((producer): [number, string] => [producer, 'abort'])];
  for (const [producer, step] of all) {
    const offsets = open.get(producer) ?? [];
    if (step === 'write') {
      open.set(producer, [...offsets, append(producer, abortKey)]);
    } else if (step === 'outside') {
      committed.push(append(producer, abortKey, { isTransactional: false, isControl: false }));
    } else if (offsets[0] !== undefined) {
      const key = step === 'abort' ? abortKey : Buffer.from([0, 0, 0, 1]);
      const lastOffset = append(producer, key, { isTransactional: true, isControl: true });
      open.delete(producer);
      if (step === 'commit') committed.push(...offsets);
      else
        aborts.push({
          producerId: BigInt(producer),
          firstOffset: BigInt(offsets[0]),
          lastOffset: BigInt(lastOffset),
        });
    }
  }
  return { log, aborts, committed: committed.sort((a, b) => a - b) };
}
