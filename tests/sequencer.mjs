import { createHash } from 'node:crypto';
import { relative } from 'node:path';
import Sequencer from '@jest/test-sequencer';

/** The slowest of the list that a run prints at its end: one of them, started last, would run alone. */
const slow = [
  'tests/rebuild/releases.test.ts',
  'tests/client/export.test.ts',
  'tests/dead-letters/operator.test.ts',
  'tests/api/explain.test.ts',
  'tests/api/shutdown.test.ts',
  'tests/end-to-end/services.test.ts',
  'tests/console/pages.test.ts',
];

/**
 * Puts the files in a random order, which the seed repeats, so that no file can depend on another. Slow files are
 * drawn for the first half of the order: they start early, and still any file can come before or after another.
 */
export default class RandomSequencer extends Sequencer {
  constructor({ globalConfig }) {
    super();
    this.seed = globalConfig.seed;
    this.root = globalConfig.rootDir;
  }

  sort(tests) {
    const places = new Map(tests.map((test) => [test, this.place(relative(this.root, test.path))]));
    return tests.toSorted((one, other) => places.get(one) - places.get(other));
  }

  /** From 0 to 1. It depends on the seed and the path alone, so a new file does not change the order of the others. */
  place(path) {
    const hash = createHash('sha256').update(`${this.seed} ${path}`).digest().readUInt32BE() / 2 ** 32;
    return slow.includes(path) ? hash / 2 : hash;
  }
}
