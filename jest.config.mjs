/** Jest runs the sources through swc to CommonJS; the services themselves run on Node's own type stripping. */
export default {
  testEnvironment: 'node',
  roots: [
    '<rootDir>/clients',
    '<rootDir>/services',
    '<rootDir>/shared',
    '<rootDir>/infra',
    '<rootDir>/tests',
  ],
  testSequencer: '<rootDir>/tests/sequencer.mjs',
  reporters: ['default', '<rootDir>/tests/reporter.mjs'],
  testMatch: ['**/*.test.ts'],
  // Ends a test or a hook that hangs. tests/limits.ts has the longer limits, with their reasons.
  testTimeout: 60_000,
  setupFilesAfterEnv: ['<rootDir>/tests/limits.ts'],
  // On a busy machine a worker without open handles takes seconds to end; after 500 ms jest would report a leak.
  workerGracefulExitTimeout: 60_000,
  transform: {
    '\\.ts$|/(marked|@faker-js|commander|@commander-js)/.*\\.js$': [
      '@swc/jest',
      { jsc: { target: 'es2024', parser: { syntax: 'typescript' } } },
    ],
  },
  // These have no CommonJS build.
  transformIgnorePatterns: ['/node_modules/(?!marked/|@faker-js/|commander/|@commander-js/)'],
};
