/** How the test of the documented commands runs one of them. */
export type Step = {
  /** The text of a page. */
  command: string;
  /** Placeholders and names of the page with their replacements. `$KEY` is a value that an earlier step has taken. */
  as?: Record<string, string>;
  /** The exit code that the command must have, if it is not 0, and the reason. */
  code?: number;
  why?: string;
  /** The folder of the clone in which the command runs, instead of its root. */
  in?: string;
  /** The message that the command, a service, logs once it serves. `keep` lets it run for the next steps. */
  serves?: string;
  keep?: true;
  /** Variables for the later steps, each with the pattern of its value in the output. */
  take?: Record<string, RegExp>;
  /** A shell command, run before this one, that creates the state which the page presupposes. */
  given?: string;
};

const cli = (words: string, more: Omit<Step, 'command'> = {}): Step => ({
  command: `npx support-cli ${words}`,
  ...more,
});
/** A shell loop that ends when a command succeeds: the projector applies the records of an earlier step in a moment. */
const until = (words: string) => `until npx support-cli ${words}; do sleep 1; done > /dev/null 2>&1`;
const refused = (why: string) => ({ code: 1, why });
const needsConfirmation = { code: 2, why: 'it asks for confirmation, and there is no terminal' };
const keyId = { key_1: '$KEY' };
const letterId = {
  'support.contacts/0/17@1795503600000': '$LETTER',
  'support.contacts/0/0@1795432235870': '$LETTER',
};

/** The commands that the test runs, in this order, from a fresh clone on one stack of its own. */
export const steps: Step[] = [
  { command: 'npm ci' },
  { command: 'npm run stack -- up' },
  { command: 'eval "$(npm run -s stack -- env)"' },
  cli('topics create'),
  { command: 'npm run sample-data' },
  { command: 'npm run projector', serves: 'projecting' },
  { command: 'GENERATION=1 npm run projector', serves: 'projecting', keep: true },
  { command: 'npm run api', serves: 'ready', keep: true },
  cli('check'),
  cli('check projector'),
  { command: 'npm run console', serves: 'listening' },
  cli('status'),
  cli('--version'),
  cli('keys create --org org_1'),
  cli('keys create --org org_1 --name "Smoke test"', { take: { KEY: /key_\w+/, TOKEN: /svc_live_\w+/ } }),
  cli('keys list --org org_1', { given: until('keys list --org org_1 | grep "Smoke test"') }),
  cli('keys block key_1 --why "leaked in a public repository"', { as: keyId }),
  cli('keys unblock key_1', { as: keyId }),
  cli('keys archive key_1', { as: keyId, ...needsConfirmation }),
  cli('explain <id> [--json]', { as: { '<id>': '$KEY', '[--json]': '--json' } }),
  cli('explain ti_1', refused('no ticket has this id')),
  cli('explain <id>', { as: { '<id>': 'ti_1' }, ...refused('no ticket has this id') }),
  {
    command: 'curl -H "Authorization: Bearer <token>" https://api.example.com/v1/tickets',
    as: {
      '<token>': '$TOKEN',
      'https://api.example.com': 'http://127.0.0.1:$API_PORT',
      curl: 'curl -sSi --retry 9 --retry-all-errors --fail-with-body -H "X-Forwarded-Proto: https"',
    },
    take: { REQUEST: /req_\w{26}/ },
  },
  cli('trace <Request-Id>', { as: { '<Request-Id>': '$REQUEST' }, given: until('trace $REQUEST') }),
  cli('trace <Request-Id> [--json]', { as: { '<Request-Id>': '$REQUEST', '[--json]': '--json' } }),
  cli('dead-letters list', {
    given: `npx node tests/markdown/publish-bad-record.mjs; ${until('dead-letters list | grep contacts')}`,
    take: { LETTER: /support\.contacts\/\S+/ },
  }),
  cli('dead-letters list --reason <reason>', { as: { '<reason>': 'bad_data' } }),
  cli('dead-letters list --reason bad_data --since 2026-11-21T00:00:00Z'),
  cli('dead-letters show support.contacts/0/17@1795503600000', { as: letterId }),
  cli('dead-letters show support.contacts/0/0@1795432235870', { as: letterId }),
  cli('dead-letters redrive --topic support.contacts --dry-run', refused('the record is still refused')),
  cli('dead-letters redrive --topic support.contacts', refused('the record is still refused')),
  cli('dead-letters purge --until 2026-10-01T00:00:00Z --dry-run'),
  cli('dead-letters purge --until 2026-10-01T00:00:00Z --yes'),
  cli('dead-letters purge --topic support.contacts --until 2026-11-24T09:00:00Z', needsConfirmation),
  ...['--why "stops release 1.4.0" --dry-run', '--why "stops release 1.4.0"'].map((words) =>
    cli(`dead-letters skip support.messages/1/8012 ${words}`, refused('the record is not in the log')),
  ),
  cli('verify'),
  cli('verify --repair'),
  cli('keys create --org org_1 --rate-limit 1000'),
  cli('verify ticket --repair'),
  cli('verify ticket ti_1', refused('there is no such document')),
  cli('verify ticket ti_1 --repair', refused('there is no such document')),
  cli('rebuild status'),
  cli('rebuild history'),
  cli('rebuild keeps 1 2'),
  ...[
    'gap 1 --dry-run --why "test data"',
    'gap 1 --why "test data"',
    'truncated --why "test data"',
    'truncated --why "published again"',
    'lost 1 --why "restored from the backup of Monday" --dry-run',
    'lost 1 --why "restored from the backup of Monday"',
  ].map((words) => cli(`accept ${words}`, refused('there is no such finding'))),
  cli('rebuild start'),
  cli("rebuild start --why 'mirrored topics'", refused('generation 2 is being built')),
  { command: 'GENERATION=2 npm run projector', serves: 'projecting', keep: true },
  cli('rebuild await 2'),
  cli('rebuild compare 2'),
  cli("rebuild compare 2 --expect ticket:joined.severity --expect '*:sort-key'", {
    as: { 'ticket:joined.severity': 'ticket:joined.tags' },
  }),
  cli(
    "rebuild compare 2 --expect '*:missing' --expect '*:extra' --expect '*:state' --expect '*:joined' " +
      "--expect '*:sort-key' --expect '*:refs' --expect '*:version'",
  ),
  cli('rebuild promote 2'),
  cli('rebuild rollback 1'),
  cli('rebuild drop 1', refused('it is served')),
  { command: 'npm run docs' },
  { command: 'npm run openapi' },
  { command: 'npx jest services/projector/materialize/evolve.test.ts' },
  { command: 'UPDATE_GOLDEN=1 npx jest services/projector/projections/golden' },
  { command: 'UPDATE_GOLDEN=1 npx jest services/projector/projections/golden shared/kafka/topics' },
  { command: 'infra/compose/create-env.sh' },
  { command: "sed -i '/^GENERATION=/d' .env && echo GENERATION=2 >> .env" },
  { command: 'CLIENT_PACKAGE=@your-scope/name npm run build', in: 'clients/typescript' },
  { command: 'npm pack ./package', in: 'clients/typescript' },
  {
    command: 'npm install <file>',
    as: { '<file>': '../your-scope-name-*.tgz' },
    given: 'mkdir user && echo "{}" > user/package.json && cd user',
    in: 'clients/typescript',
  },
  { command: 'date -u -d @1826968232' },
];

const hosts = 'hosts of a deployment; tests/monitoring holds the names of the metrics';

/** The commands that the test does not run, and why. */
export const notRun: [command: RegExp, why: string][] = [
  [/^npm ci --include=dev$/, 'npm ci, which the test runs, leaves nothing out by default'],
  [/^docker /, 'needs Docker: tests/stand-in-images runs the Compose deployment'],
  [/^(helm|kubectl) /, 'needs a cluster with nodes: tests/helm installs the chart on an API server alone'],
  [/^kafka-\S+\.sh /, "Kafka's own tools"],
  [/^(valkey-cli|mongodump|ssh|pip|promtool) /, 'programs of an operator or a reader, on servers of theirs'],
  [/^curl -s http:\/\/(api|projector):9090\//, hosts],
  [/^API_TRUSTED_PROXIES=\S+$|^(NODE_OPTIONS|OTEL_\w+)=\S+/, 'settings, no command'],
  [/^set -euo pipefail|^export API|^jq /, 'scripts of guides: tests/docs-site runs them'],
  [
    /^npm (start|test)\b|^npm run test:long/,
    'the demo has tests/end-to-end; this test is a part of the others',
  ],
  [/^npm run (check|types|format)$/, '`npm test` runs the checks'],
  [/^npm run (stack|bench)$|^npx node$/, 'named without its arguments'],
  [/^npm run bench /, 'tests/bench runs both with --quick'],
  [/^npx jest --roots clients services shared infra$/, 'a part of `npm test`'],
  [
    /^npx jest --runInBand tests\/simulation|^npx node tests\/simulation/,
    'minutes: tests/simulation runs the same',
  ],
  [/^UPDATE_GOLDEN=1 npm test -- tests\/(commands|api\/contract\.test\.ts)$/, 'a part of `npm test`'],
  [/^npx node tests\/stand-in-images\/main\.ts$/, 'pulls images'],
  [/^npx node infra\/kubernetes\/main\.ts$/, 'builds for half an hour'],
  [/^DATABASE_NAME=… /, 'the name is left to the reader'],
];
