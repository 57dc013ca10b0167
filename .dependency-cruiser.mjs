/**
 * Which folder may import which folders and packages: `npm run lint` fails on a circle of files and on an arrow that
 * points upward. Type imports count.
 */
const upward = (name, from, to, comment) => ({
  name,
  comment,
  severity: 'error',
  from: { path: from, pathNot: '\\.test\\.ts$' },
  to: { path: to },
});

const reached = (name, from, to, comment) => ({
  name,
  comment,
  severity: 'error',
  from: { path: from },
  to: { path: to, pathNot: '\\.test\\.ts$', reachable: false },
});

export default {
  forbidden: [
    {
      name: 'no-circular',
      comment:
        'Files that import each other can only be read together: move what both need into a file of its own.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    upward(
      'shared-knows-no-service',
      '^shared/',
      '^(services|infra|tests|clients)/',
      'Both services import shared/.',
    ),
    upward(
      'runtime-is-the-lowest-folder',
      '^shared/runtime/',
      '^shared/(?!runtime/)',
      'runtime/ knows the process and its settings, not MongoDB.',
    ),
    upward(
      'store-knows-no-control',
      '^shared/store/',
      '^shared/control/',
      'store/ connects to MongoDB; control/ keeps its documents there.',
    ),
    upward(
      'control-is-plain-data',
      '^shared/control/',
      '^shared/(documents|pages)/',
      'control/ knows generations and their progress, not the documents in them.',
    ),
    upward(
      'client-knows-the-document-alone',
      '^clients/[^/]+/src/',
      '^(?!clients/[^/]+/src/)',
      'A client knows the API by its document alone, and runs wherever there is fetch: no packages, no node:.',
    ),
    upward(
      'services-know-no-users',
      '^(services|infra)/',
      '^(tests|clients)/',
      'Tests and clients use the services, never the reverse.',
    ),
    upward(
      'sockets-know-no-koa',
      '^services/api/server/',
      '^services/api/(app|middleware|resources|paging|auth|rate-limit|openapi|docs|store)',
      'server/ hands sockets to a listener; what the listener does is above it.',
    ),
    upward(
      'http-knows-no-middleware',
      '^services/api/http/',
      '^services/api/(app|api|main|server|middleware|resources|openapi|docs|auth|paging|rate-limit|traces)',
      'http/ defines the request context and the errors that everything above uses.',
    ),
    upward(
      'api-store-knows-no-request',
      '^services/api/store/',
      '^services/api/(?!store/|[a-z-]+\\.ts$)|^services/api/(app|api|main|config)\\.ts$',
      'store/ reads for a caller; what asked for the read, and what is made of it, is above it.',
    ),
    upward(
      'api-settings-know-no-folder',
      '^services/api/config\\.ts$',
      '^services/api/(?!server/certificate\\.ts$)',
      'Every folder may read the settings; the settings only check that a certificate can be used.',
    ),
    upward(
      'middleware-is-composed-by-app',
      '^services/api/(resources|paging|auth|rate-limit|store|traces|openapi)/',
      '^services/api/(app|main|middleware)',
      'Middleware uses these folders; app.ts puts the middleware together.',
    ),
    upward(
      'events-are-parsed-alone',
      '^services/projector/events/',
      '^(services/projector/(?!events/)|shared/kafka/(?!record-format\\.ts))',
      'events/ turns a record into a change or a rejection, and nothing else.',
    ),
    upward(
      'projections-are-declared-alone',
      '^services/projector/projections/',
      '^(?!services/projector/projections/|shared/)',
      'A projection declares its joins; the engine runs them. It is pure: no MongoDB, no Kafka, no Node.',
    ),
    upward(
      'engine-knows-no-kafka',
      '^services/projector/materialize/',
      '^(services/projector/(hand-over|partition|consumer|apply|progress|dead-letters|retention|projector)|shared/kafka/(?!record-format\\.ts))',
      'The engine applies changes; where they come from is above it.',
    ),
    upward(
      'hand-over-is-the-contract',
      '^services/projector/hand-over\\.ts$',
      '^services/projector/',
      'The contract between reading and applying knows neither of them.',
    ),
    upward(
      'partition-hands-over-records',
      '^services/projector/partition/',
      '^services/projector/(consumer|apply|progress|materialize|projections|dead-letters|retention|projector\\.ts)',
      'A partition is given a function that applies its records. It knows no consumer: kafkajs is above it.',
    ),
    upward(
      'consumer-hands-over-records',
      '^services/projector/consumer/',
      '^services/projector/(apply|progress|materialize|projections|dead-letters|retention|projector\\.ts)',
      'The consumer hands its fetches to partitions. It does not know how records are applied, or where progress is saved.',
    ),
    upward(
      'apply-knows-no-partition',
      '^services/projector/apply/',
      '^services/projector/(partition|consumer|progress|retention|projector\\.ts)',
      'Applying is given a chunk and an attempt: hand-over.ts. Whose they are, it does not know.',
    ),
    upward(
      'progress-knows-no-consumer',
      '^services/projector/progress/',
      '^services/projector/(consumer|apply|materialize|projections|dead-letters|retention|projector\\.ts)',
      'Progress is recorded of partitions, and handed to the group by a function: kafkajs is above it.',
    ),
    reached(
      'projector-is-what-it-runs',
      '^services/projector/main\\.ts$',
      '^services/projector/',
      'What services/projector/main.ts does not reach belongs to services/operations/.',
    ),
    reached(
      'verbs-are-registered',
      '^services/cli/main\\.ts$',
      '^services/cli/',
      'services/cli/command.ts adds each verb: support-cli would not know this one.',
    ),
    reached(
      'console-is-what-it-serves',
      '^services/console/main\\.ts$',
      '^services/console/.*\\.ts$',
      'The console serves no page and no part that services/console/main.ts does not reach.',
    ),
    reached(
      'operations-are-used',
      '^services/(cli|console)/main\\.ts$',
      '^services/operations/',
      'An operation that neither the CLI nor the console reaches is of no use to an operator.',
    ),
    reached(
      'resources-are-registered',
      '^services/api/resources/routes\\.ts$',
      '^services/api/resources/',
      'services/api/resources/routes.ts has the routes of every resource.',
    ),
    upward(
      'presenters-are-pure',
      '^services/api/resources/.*presenter\\.ts$',
      '^(?!services/api/resources/|shared/)',
      'A document in, the contract out.',
    ),
    upward(
      'projector-knows-no-http',
      '^services/projector/',
      '^services/(operations|api|cli|console)/|node_modules/(@koa|koa)/',
      'A projector writes documents, and follows the registry of generations, which operators change.',
    ),
    upward(
      'facts-know-no-operation',
      '^services/operations/(rules/|[a-z-]+\\.ts$)',
      '^services/operations/(rebuild|dead-letters|explain|keys|topics|traces|verify)/',
      'Facts are read and evaluated; the operations in the folders act on them.',
    ),
    upward(
      'dev-servers-stand-alone',
      '^infra/dev-servers/',
      '^infra/(?!dev-servers/)',
      'Demo, sample data and tests start the development servers, never the reverse.',
    ),
    upward(
      'operations-know-no-terminal',
      '^services/operations/',
      '^services/(api|cli|console)/|node_modules/(@koa|koa|@commander-js|commander)/',
      'Operations return values; the command line prints them, and the console shows them.',
    ),
    upward(
      'console-reads-by-operations',
      '^services/console/.*\\.ts$',
      '^services/(api|cli|projector/(partition|consumer|apply|progress|dead-letters|events|materialize|projections|retention))/',
      'The console shows the values of operations, as the CLI prints them; it computes nothing of its own.',
    ),
    upward(
      'api-knows-no-kafka',
      '^(services/api|shared/(store|control|documents|runtime|pages))/',
      '^(shared/kafka|services/(projector|cli))/|node_modules/kafkajs/',
      'The API serves documents: it knows neither the projector nor Kafka. kafka/ holds the client, codecs and topics.',
    ),
  ],
  options: {
    doNotFollow: { path: ['node_modules', '^clients/[^/]+/(dist|src/generated)/'] },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
  },
};
