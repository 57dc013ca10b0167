/** A document of BSON: a command, or a part of a command. */
export type Part = Record<string, unknown>;

/** Options that the driver adds, or that do not change the plan. */
const ignored = new Set([
  ...['$db', 'lsid', '$clusterTime', '$readPreference', 'readConcern', 'writeConcern', 'maxTimeMS'],
  ...['batchSize', 'cursor', 'collection', 'ordered', 'nameOnly', 'singleBatch', 'txnNumber'],
]);

/** Commands that the driver sends for its own sessions, cursors and checks. */
export const isOfDriver = (name: string) => ['endSessions', 'ping', 'killCursors', 'getMore'].includes(name);

/** The text of a shape, and a command that contains only the statement of the shape. */
type Shape = { text: string; statement: Part };

/**
 * Reduces a command to the parts that decide its plan: the shape has no values, and no fields that the command only
 * writes. A bulk write has a shape for each of its statements.
 */
export function shapesOf(name: string, command: Part): Shape[] {
  const { [name]: target, updates, deletes, documents, ...options } = command;
  if (updates) {
    return (updates as Part[]).map((update) => ({
      text: updateText(update),
      statement: { update: target, updates: [update] },
    }));
  }
  if (deletes) {
    return (deletes as Part[]).map((deletion) => ({
      text: textOf('delete', deletion),
      statement: { delete: target, deletes: [deletion] },
    }));
  }
  const hasPlan = ['find', 'aggregate', 'count', 'findAndModify'].includes(name);
  const describedOptions = documents || name === 'createIndexes' ? {} : options;
  const statement = hasPlan ? { [name]: target, ...options } : {};
  return [{ text: textOf(name, describedOptions), statement }];
}

function updateText({ q, u, upsert, multi, ...rest }: Part): string {
  const isReplacement = !Array.isArray(u) && Object.keys(u as object).every((key) => !key.startsWith('$'));
  return textOf('update', { q, u: isReplacement ? 'document' : u, upsert, multi, ...rest });
}

function textOf(name: string, options: Part): string {
  const words = [name];
  for (const [option, value] of Object.entries(options)) {
    const text = ignored.has(option) ? null : optionText(option, value);
    if (text !== null) words.push(text);
  }
  return words.join(' ');
}

const filterText = (value: unknown) => `{ ${conditionsText(value)} }`;
const updateOperatorsText = (value: unknown) => `← ${operatorsText(value)}`;

/** The texts of the options whose values decide the plan. Any other option is in a shape by its name alone. */
const optionTexts: Record<string, (value: unknown) => string> = {
  filter: filterText,
  q: filterText,
  query: filterText,
  pipeline: (value) => stagesText(value as Part[]),
  u: updateOperatorsText,
  update: updateOperatorsText,
  sort: (value) => `sort ${sortText(value)}`,
  hint: (value) => `hint ${String(value)}`,
  fields: () => 'projection',
};

/** The text of an option; null for an option with the value that it has by default. */
function optionText(option: string, value: unknown): string | null {
  const describe = optionTexts[option];
  if (describe) return describe(value);
  const isDefault = value === undefined || value === false || (option === 'limit' && value === 0);
  return isDefault ? null : option;
}

/** The fields of a document, or a map of the driver. */
const entries = (value: unknown): [string, unknown][] =>
  value instanceof Map ? ([...value.entries()] as [string, unknown][]) : Object.entries(value ?? {});

/** The fields of an order, without directions, because an index serves an order and its reverse. */
const sortText = (value: unknown) =>
  entries(value)
    .map(([field]) => field)
    .join(', ');

const isPlain = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null);

/** Removes repetitions, because a command may repeat a stage or a condition for each kind or partition. */
const unique = (texts: string[]) => [...new Set(texts)];

const ranges = ['$gt', '$gte', '$lt', '$lte'];

const conditionsText = (filter: unknown): string => entries(filter).map(conditionText).join(', ');

function conditionText([field, condition]: [string, unknown]): string {
  if (Array.isArray(condition)) {
    const alternatives = unique(condition.map(conditionsText));
    return `${field} [${alternatives.join(' | ')}]`;
  }
  if (field.startsWith('$') || !isPlain(condition)) return field;
  const operators = Object.keys(condition).filter((key) => key.startsWith('$'));
  const named = operators.map((operator) => (ranges.includes(operator) ? 'range' : operator));
  return [field, ...unique(named)].join(' ');
}

const stagesText = (pipeline: Part[]): string => `[${unique(pipeline.map(stageText)).join(', ')}]`;

function stageText(stage: Part): string {
  const [field] = entries(stage);
  const [name, value] = field ?? ['', undefined];
  if (name === '$match') return `$match { ${conditionsText(value)} }`;
  if (name === '$unionWith') return `$unionWith ${stagesText((value as { pipeline: Part[] }).pipeline)}`;
  return name;
}

/** The operators of an update, or the stages of its pipeline. The plan does not depend on the fields that it sets. */
function operatorsText(value: unknown): string {
  if (Array.isArray(value)) return stagesText(value as Part[]);
  return isPlain(value) ? Object.keys(value).join(', ') : String(value);
}
