/** A command, or a part of one. */
export type Part = Record<string, unknown>;

/** Options that the driver adds, or that do not change the plan. */
const ignored = new Set([
  ...['$db', 'lsid', '$clusterTime', '$readPreference', 'readConcern', 'writeConcern', 'maxTimeMS'],
  ...['batchSize', 'cursor', 'collection', 'ordered', 'nameOnly', 'singleBatch', 'txnNumber'],
]);

/** Commands that the driver sends for its own sessions, cursors and checks. */
export const isOfDriver = (name: string) => ['endSessions', 'ping', 'killCursors', 'getMore'].includes(name);

/**
 * The shapes of a command: its parts that decide the plan, without values and without fields that it only writes. A
 * bulk has a shape for each statement. `alone` is the command with only that statement.
 */
export function shapesOf(name: string, command: Part): { text: string; alone: Part }[] {
  const { [name]: target, updates, deletes, documents, ...options } = command;
  if (updates)
    return (updates as Part[]).map((one) => ({
      text: updateText(one),
      alone: { update: target, updates: [one] },
    }));
  if (deletes)
    return (deletes as Part[]).map((one) => ({
      text: textOf('delete', one),
      alone: { delete: target, deletes: [one] },
    }));
  const hasPlan = ['find', 'aggregate', 'count', 'findAndModify'].includes(name);
  const shown = documents || name === 'createIndexes' ? {} : options;
  return [{ text: textOf(name, shown), alone: hasPlan ? { [name]: target, ...options } : {} }];
}

function updateText({ q, u, upsert, multi, ...rest }: Part): string {
  const isReplacement = !Array.isArray(u) && Object.keys(u as object).every((key) => !key.startsWith('$'));
  return textOf('update', { q, u: isReplacement ? 'document' : u, upsert, multi, ...rest });
}

const textOf = (name: string, options: Part): string =>
  [
    name,
    ...Object.entries(options)
      .filter(([option]) => !ignored.has(option))
      .map(([option, value]) => part(option, value)),
  ]
    .filter((text) => text !== null)
    .join(' ');

function part(option: string, value: unknown): string | null {
  if (option === 'filter' || option === 'q' || option === 'query') return `{ ${conditions(value)} }`;
  if (option === 'pipeline') return stages(value as Part[]);
  if (option === 'u' || option === 'update') return `← ${update(value)}`;
  if (option === 'sort') return `sort ${keys(value)}`;
  if (option === 'hint') return `hint ${String(value)}`;
  if (option === 'fields') return 'projection';
  if (value === undefined || value === false || (option === 'limit' && value === 0)) return null;
  return option;
}

/** The fields of a document, or a map of the driver. */
const entries = (value: unknown): [string, unknown][] =>
  value instanceof Map ? ([...value.entries()] as [string, unknown][]) : Object.entries(value ?? {});

/** The fields of a sort, without their directions: an index serves an order and its reverse. */
const keys = (value: unknown) =>
  entries(value)
    .map(([field]) => field)
    .join(', ');

const isPlain = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null);

/** Names each stage and condition once: some commands repeat them for each kind or partition. */
const unique = (texts: string[]) => [...new Set(texts)];

const ranges = ['$gt', '$gte', '$lt', '$lte'];

const conditions = (filter: unknown): string =>
  entries(filter)
    .map(([field, condition]): string => {
      if (Array.isArray(condition)) return `${field} [${unique(condition.map(conditions)).join(' | ')}]`;
      if (field.startsWith('$') || !isPlain(condition)) return field;
      const operators = Object.keys(condition).filter((key) => key.startsWith('$'));
      const named = operators.map((operator) => (ranges.includes(operator) ? 'range' : operator));
      return [field, ...new Set(named)].join(' ');
    })
    .join(', ');

const stages = (pipeline: Part[]): string => `[${unique(pipeline.map(stageText)).join(', ')}]`;

function stageText(stage: Part): string {
  const [[name = '', value] = []] = entries(stage);
  if (name === '$match') return `$match { ${conditions(value)} }`;
  if (name === '$unionWith') return `$unionWith ${stages((value as { pipeline: Part[] }).pipeline)}`;
  return name;
}

/** The operators of an update, or the stages of its pipeline, without the fields that they set. */
function update(value: unknown): string {
  if (Array.isArray(value)) return stages(value as Part[]);
  return isPlain(value) ? Object.keys(value).join(', ') : String(value);
}
