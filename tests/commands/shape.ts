/** A command, or a part of one. */
export type Part = Record<string, unknown>;

/** A command, reduced to what decides its plan and which servers take it: no values, and no fields that it only writes. */
export type Shape = {
  text: string;
  /** The commands, options, stages and operators that it uses. */
  uses: string[];
};

/** Options that the driver adds, or that do not change the plan. */
const ignored = new Set([
  ...['$db', 'lsid', '$clusterTime', '$readPreference', 'readConcern', 'writeConcern', 'maxTimeMS'],
  ...['batchSize', 'cursor', 'collection', 'ordered', 'nameOnly', 'singleBatch', 'txnNumber'],
]);

/** Commands that begin or end something of the driver. */
export const isOfDriver = (name: string) => ['endSessions', 'ping', 'killCursors', 'getMore'].includes(name);

/** One shape for each command, and one for each statement of a bulk, with the command that contains it alone. */
export function shapesOf(name: string, command: Part): (Shape & { alone: Part })[] {
  const { [name]: target, updates, deletes, documents, ...options } = command;
  if (updates)
    return (updates as Part[]).map((one) => ({
      ...shapeOfUpdate(one),
      alone: { update: target, updates: [one] },
    }));
  if (deletes)
    return (deletes as Part[]).map((one) => ({
      ...shape('delete', one),
      alone: { delete: target, deletes: [one] },
    }));
  const hasPlan = ['find', 'aggregate', 'count', 'findAndModify'].includes(name);
  const said = documents || name === 'createIndexes' ? {} : options;
  return [{ ...shape(name, said), alone: hasPlan ? { [name]: target, ...options } : {} }];
}

function shapeOfUpdate({ q, u, upsert, multi, ...rest }: Part): Shape {
  const isReplacement = !Array.isArray(u) && Object.keys(u as object).every((key) => !key.startsWith('$'));
  const flags = { upsert, multi, ...rest };
  return shape('update', { q, u: isReplacement ? 'document' : u, ...flags });
}

function shape(name: string, options: Part): Shape {
  const uses = new Set([name]);
  const parts = Object.entries(options)
    .filter(([option]) => !ignored.has(option))
    .map(([option, value]) => part(option, value, uses))
    .filter((text) => text !== null);
  return { text: [name, ...parts].join(' '), uses: [...uses] };
}

function part(option: string, value: unknown, uses: Set<string>): string | null {
  if (option === 'filter' || option === 'q' || option === 'query') return `{ ${conditions(value, uses)} }`;
  if (option === 'pipeline') return stages(value as Part[], uses);
  if (option === 'u' || option === 'update') return `← ${update(value, uses)}`;
  if (option === 'sort') return `sort ${keys(value)}`;
  if (option === 'hint') return `hint ${String(value)}`;
  if (option === 'fields') return 'projection';
  if (value === undefined || value === false || (option === 'limit' && value === 0)) return null;
  return option;
}

/** The fields of a document, or a map of the driver. */
const entries = (value: unknown): [string, unknown][] =>
  value instanceof Map ? ([...value.entries()] as [string, unknown][]) : Object.entries(value ?? {});

/** An index serves an order and its reverse. */
const keys = (value: unknown) =>
  entries(value)
    .map(([field]) => field)
    .join(', ');

const isPlain = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null);

/** A stage or condition may be repeated as often as there are kinds or partitions. */
const unique = (texts: string[]) => [...new Set(texts)];

const ranges = ['$gt', '$gte', '$lt', '$lte'];

function conditions(filter: unknown, uses: Set<string>): string {
  return entries(filter)
    .map(([field, condition]): string => {
      if (Array.isArray(condition)) {
        uses.add(field);
        return `${field} [${unique(condition.map((each) => conditions(each, uses))).join(' | ')}]`;
      }
      if (field.startsWith('$')) {
        for (const operator of operatorsIn({ [field]: condition })) uses.add(operator);
        return field;
      }
      const operators = isPlain(condition) ? Object.keys(condition).filter((key) => key.startsWith('$')) : [];
      for (const operator of operators) uses.add(operator);
      const named = operators.map((operator) => (ranges.includes(operator) ? 'range' : operator));
      return [field, ...new Set(named)].join(' ');
    })
    .join(', ');
}

const stages = (pipeline: Part[], uses: Set<string>): string =>
  `[${unique(pipeline.map((stage) => stageText(stage, uses))).join(', ')}]`;

function stageText(stage: Part, uses: Set<string>): string {
  const [[name = '', value] = []] = entries(stage);
  uses.add(name);
  if (name === '$match') return `$match { ${conditions(value, uses)} }`;
  if (name === '$unionWith') return `$unionWith ${stages((value as { pipeline: Part[] }).pipeline, uses)}`;
  for (const operator of operatorsIn(value)) uses.add(operator);
  return name;
}

/** The operators of an update, or of its pipeline. Which fields it sets does not matter. */
function update(value: unknown, uses: Set<string>): string {
  if (Array.isArray(value)) return stages(value as Part[], uses);
  if (!isPlain(value)) return String(value);
  for (const operator of Object.keys(value)) uses.add(operator);
  return Object.keys(value).join(', ');
}

/** The operators within an expression. */
function operatorsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(operatorsIn);
  if (!isPlain(value)) return [];
  return entries(value).flatMap(([key, inner]) => [
    ...(key.startsWith('$') ? [key] : []),
    ...operatorsIn(inner),
  ]);
}
