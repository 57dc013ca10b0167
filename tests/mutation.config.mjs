import { tmpdir } from 'node:os';
import { join } from 'node:path';
import jest from '../jest.config.mjs';

/** StrykerJS changes modules of the projector and of its operations, one place at a time, and lists each change that no test notices. */
export default {
  mutate: [
    'services/projector/{generations,consumer,materialize,retention,dead-letters}/*.ts',
    'services/operations/**/*.ts',
    '!services/**/*.test.ts',
  ],
  testRunner: 'jest',
  plugins: ['@stryker-mutator/jest-runner'],
  jest: {
    // Tests beside the sources need no servers; the interleavings run the engine on a store in memory.
    config: {
      ...jest,
      testMatch: ['**/services/{projector,operations}/**/*.test.ts', '**/interleavings.test.ts'],
      reporters: [],
    },
    enableFindRelatedTests: false,
  },
  coverageAnalysis: 'perTest',
  ignoreStatic: true,
  concurrency: 1,
  tempDirName: join(tmpdir(), 'support-read-models-mutation'),
  reporters: ['clear-text'],
  clearTextReporter: { allowColor: false, allowEmojis: false, reportTests: false },
};
