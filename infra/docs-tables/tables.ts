import type { z } from 'zod';
import { apiSettings } from '../../services/api/config.ts';
import { errorCatalogue } from '../../services/api/http/error-catalogue.ts';
import type { Route } from '../../services/api/http/route.ts';
import { createMetrics as createApiMetrics, observeBudget } from '../../services/api/metrics.ts';
import { clientMethod } from '../../services/api/openapi/code-samples.ts';
import { createRoutes } from '../../services/api/resources/routes.ts';
import { cliSettings } from '../../services/cli/config.ts';
import { consoleSettings } from '../../services/console/config.ts';
import { projectorSettings } from '../../services/projector/config.ts';
import { createMetrics as createProjectorMetrics } from '../../services/projector/metrics.ts';
import { holdCauses } from '../../shared/control/hold-causes.ts';
import { rejectionReasons } from '../../shared/control/rejections.ts';
import { kinds, resources } from '../../shared/documents/resources.ts';
import { servedIndexes, type ServedKind, servedKinds } from '../../shared/documents/served-indexes.ts';
import { variableNames, variablesOf } from '../../shared/runtime/config.ts';
import { connectionRules } from '../../shared/runtime/connection-options.ts';
import { registerLinesLost } from '../../shared/runtime/log-metrics.ts';
import { registerPools } from '../../shared/store/pool-metrics.ts';
import { type CataloguedMetric, catalogueOf, unitOf } from './catalogue.ts';
import { markdownTable } from './markdown.ts';

/** The pages that hold generated tables. */
export const pagesWithTables = [
  'clients/typescript/README.md',
  'docs/configuration.md',
  'docs/errors.md',
  'docs/event-contract.md',
  'docs/internals/paging.md',
  'docs/metrics.md',
  'docs/mongodb.md',
];

const services: [string, Record<string, z.ZodType>][] = [
  ['projector', projectorSettings],
  ['api', apiSettings],
  ['cli', cliSettings],
  ['console', consoleSettings],
];

/** The schema of every setting of a service, by the name of the setting. */
const settings: Record<string, z.ZodType> = Object.fromEntries(
  services.flatMap(([, schemas]) => Object.entries(schemas)),
);

/** Every variable that sets a setting. */
export const settingVariables = variableNames(settings);

/** The metrics that each service exports, without the metrics of Node.js. */
export function metricCatalogues(): { projector: CataloguedMetric[]; api: CataloguedMetric[] } {
  const projector = createProjectorMetrics();
  const api = createApiMetrics();
  observeBudget(api, () => ({ reads: 0, bytes: 0, waiting: 0 }));
  for (const { registry } of [projector, api]) {
    registerPools(registry, {});
    registerLinesLost(registry, { linesLost: () => 0 });
  }
  return { projector: catalogueOf(projector.registry), api: catalogueOf(api.registry) };
}

/** Writes each generated table, by the name that marks it on a page: `<!-- table: errors -->`. */
const tables: Record<string, () => string> = {
  errors: () =>
    markdownTable(
      ['status', 'code', 'type', 'message'],
      Object.entries(errorCatalogue).map(([name, { status, type, message }]) => [
        String(status),
        `[${code(name)}](#${name})`,
        code(type),
        message,
      ]),
    ),
  connectionOptions: () =>
    markdownTable(
      ['option', 'allowed values', 'reason'],
      connectionRules.map(({ options, values, why }) => [options.map(code).join(', '), values ?? 'any', why]),
    ),
  clientMethods: () =>
    markdownTable(
      ['method', 'returns'],
      createRoutes({ now: () => new Date(), brand: '' }).map((route) => {
        // The first sentence of the description, such as "Returns the tickets of the organization."
        const { returns } = /^Returns (?<returns>[^]+?)\.(?: |$)/.exec(route.description)?.groups ?? {};
        if (!returns) throw new Error(`the description of ${route.path} does not begin with "Returns …."`);
        return [code(methodOf(route)), returns];
      }),
    ),
  apiMetrics: () => metricTable(metricCatalogues().api),
  holdCauses: () => meaningsTable('cause', holdCauses),
  listIndexes: () => markdownTable(['collection', 'index', 'fields'], servedKinds.flatMap(indexRows)),
  projectorMetrics: () => metricTable(metricCatalogues().projector),
  rejections: () => meaningsTable('reason', rejectionReasons),
  settings: settingsTables,
  sharding,
  topics: () =>
    markdownTable(
      ['topic', 'entity', 'ids begin with', 'events'],
      Object.entries(resources).map(([kind, { topic: name, idPrefix }]) => [
        code(`<TOPIC_PREFIX>${name}`),
        code(kind),
        idPrefix ? code(idPrefix) : 'anything',
        code(`support.${kind}.<verb>.v1`),
      ]),
    ),
};

/** A method of the typed client with its arguments. */
function methodOf({ path, operationId, query }: Route): string {
  const hasQuery = Object.keys(query.shape).length > 0;
  const names: string[] = [];
  if (path.includes(':id')) names.push('id');
  if (hasQuery) names.push('params?');
  return `${clientMethod(path, operationId)}(${names.join(', ')})`;
}

const indexRows = (kind: ServedKind): string[][] =>
  servedIndexes[kind].map((name) => [
    code(resources[kind].collection),
    code(name),
    indexFields(kind, name).map(code).join(', '),
  ]);

const indexFields = (kind: ServedKind, index: string): string[] =>
  Object.keys(resources[kind].indexes.find(({ name }) => name === index)?.key ?? {});

const meaningsTable = (title: string, meaningByName: Record<string, string>) =>
  markdownTable(
    [title, 'meaning'],
    Object.entries(meaningByName).map(([name, meaning]) => [code(name), meaning]),
  );

/** The commands that shard generation 2. API keys stay unsharded: they are few, and the API finds them by token. */
function sharding(): string {
  const shardedKinds = kinds.filter((kind) => kind !== 'apiKey');
  const collections = shardedKinds.map((kind) => `  '${resources[kind].collection}',`);
  return [
    '```js',
    "sh.enableSharding('support_g2'); // MongoDB 6.0 and later do this themselves",
    'for (const name of [',
    ...collections,
    '])',
    "  sh.shardCollection(`support_g2.${name}`, { _id: 'hashed' });",
    '```\n',
  ].join('\n');
}

/** Returns the text of a page, with each marked table written again from the code. */
export function withTables(text: string): string {
  return text.replace(
    /(<!-- table: (\w+) -->\n)[^]*?(<!-- end -->)/g,
    (_, begin: string, name: string, end: string) => {
      const table = tables[name];
      if (!table) throw new Error(`there is no table ${name}`);
      return `${begin}\n${table()}\n${end}`;
    },
  );
}

/** One table for each set of services that read the same settings. The tables of most services come first. */
function settingsTables(): string {
  const readersOf = (name: string) => services.filter(([, schemas]) => name in schemas);
  const byReaders = Map.groupBy(Object.keys(settings), (name) =>
    readersOf(name)
      .map(([service]) => service)
      .join(', '),
  );
  return [...byReaders]
    .sort(([a], [b]) => b.split(',').length - a.split(',').length)
    .map(([readers, names]) => `### Read by: ${readers}\n\n${settingsTable(names, readersOf)}`)
    .join('\n');
}

function settingsTable(names: string[], readersOf: (name: string) => typeof services): string {
  return markdownTable(
    ['variable', 'default', 'meaning'],
    names.map((name) => {
      const readers = readersOf(name);
      const defaults = readers.map(([, schemas]) => defaultOf(schemas[name]));
      const isSameDefault = defaults.every((value) => value === defaults[0]);
      const meaning = readers.map(([, schemas]) => schemas[name]?.description).find(Boolean);
      if (!meaning) throw new Error(`${name} is not described`);
      const defaultByService = readers.map(([service], index) => `${defaults[index]} (${service})`);
      const variables = variablesOf(name, settings[name] as z.ZodType).map(code);
      return [
        variables.join(' or '),
        isSameDefault ? (defaults[0] ?? '') : defaultByService.join(', '),
        meaning,
      ];
    }),
  );
}

const metricTable = (metrics: CataloguedMetric[]): string =>
  markdownTable(
    ['metric', 'type', 'unit', 'labels', 'meaning, and why to watch it'],
    metrics.map((metric) => [
      code(metric.name),
      metric.type,
      unitOf(metric),
      metric.labelNames.map(code).join(', '),
      metric.help,
    ]),
  );

function defaultOf(setting: z.ZodType | undefined): string {
  const absent = setting?.safeParse(undefined);
  if (!absent?.success) return '**required**';
  const { data } = absent;
  if (data === undefined || (Array.isArray(data) && data.length === 0)) return 'unset';
  return code(typeof data === 'string' ? data : JSON.stringify(data));
}

const code = (text: string) => `\`${text}\``;
