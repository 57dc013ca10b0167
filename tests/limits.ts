/**
 * The files whose tests and hooks may take longer than a minute, the limit in jest.config.mjs. The times allow for a
 * slow machine. The first rule that matches a path applies.
 */
const limits: { files: RegExp; minutes: number; reason: string }[] = [
  {
    files: /\.long\.test\.ts$|\/tests\/faults\//,
    minutes: 30,
    reason: 'it starts and ends servers, clusters or browsers of its own, or measures memory',
  },
  {
    files: /\/tests\/(simulation|convergence|bench)\//,
    minutes: 30,
    reason: 'its random histories have the size of `npm run test:long`',
  },
  {
    files: /\/tests\//,
    minutes: 5,
    reason:
      'it shares servers with other tests; each wait for the servers fails after a minute and names its condition',
  },
  { files: /\/infra\/dev-servers\//, minutes: 5, reason: 'it starts processes and virtual machines of Java' },
  {
    files: /\/shared\/kafka\/codecs-memory\./,
    minutes: 5,
    reason: 'it decompresses gigabytes, in a process for each codec',
  },
];

const { testPath = '' } = expect.getState();
const limit = limits.find(({ files }) => files.test(testPath));
if (limit) jest.setTimeout(limit.minutes * 60_000);
