import { createHash } from 'node:crypto';
import { relative } from 'node:path';
import Sequencer from '@jest/test-sequencer';

/** The slowest files of a run. A slow file that started last would run alone while the other workers idle. */
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
    return tests.toSorted((a, b) => places.get(a) - places.get(b));
  }

  /** A number from 0 to 1. Only seed and path decide it, so a new file does not change the order of the others. */
  place(path) {
    const hash = createHash('sha256').update(`${this.seed} ${path}`).digest();
    const place = hash.readUInt32BE() / 2 ** 32;
    return slow.includes(path) ? place / 2 : place;
  }
}
