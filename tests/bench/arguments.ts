import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { servingNames, type ServingName } from './serving/contender-names.ts';
import { contenderNames, type ContenderName } from './projecting/contender-names.ts';
import { recordsMin, rebuildRecords } from './rebuild/names.ts';
import { errorMessage } from '../../shared/runtime/error-message.ts';

export const usage = `Usage: npm run bench -- [projecting|rebuild|serving|traces|memory] [options]

  projecting (default)   compares the projector with other ways to write the same records to the store
    --quick            run each contender once, with few records, in one or two minutes
    --rounds N         runs of each contender, 1 to 100; default 3, with --quick 1
    --only A,B         run only these contenders: ${contenderNames.join(', ')}
    --json FILE        write every figure to this file
    --write-docs       write docs/benchmarks.md and docs/benchmarks.svg; not with --quick or --only

  rebuild                measures a rebuild beside a generation that is served and follows live changes
    --quick            measure once, with few records, in one or two minutes
    --rounds N         1 to 100; default 3, with --quick 1
    --records N        records to rebuild from, 1,000 to 10,000,000; default ${rebuildRecords}
    --json FILE        write every figure to this file
    --write-docs       write docs/benchmarks-rebuild.md; not with --quick

  serving                compares the API with other ways to answer the same requests
    --quick            run each contender once, with few documents, in one or two minutes
    --rounds N         runs of each contender, 1 to 100; default 3, with --quick 1
    --only A,B         run only these contenders: ${servingNames.join(', ')}
    --connections N    keep-alive connections of the client, 1 to 1000; default 32
    --tickets N,M      sizes of the list of tickets; default 10000,100000
    --json FILE        write every figure to this file
    --write-docs       write docs/benchmarks-serving.md and .svg; not with --quick or --only

  traces                 measures the cost of request traces for the API
    --rounds N         1 to 100; default 20
    --connections N    keep-alive connections of the client, 1 to 1000; default 16

  memory                 measures the memory of a projector with 132 partitions, gzip and a slow store
    --records N        1,000 to 10,000,000; default 1000000
    --delay MS         milliseconds by which the store answers late, 1 to 60,000; default 1500

  The servers are those of KAFKA_BROKERS and MONGODB_URL, or come from Docker or package registries, as for npm test.
`;

export type ProjectingOptions = {
  quick: boolean;
  rounds: number;
  only: ContenderName[] | null;
  json: string | null;
  writeDocs: boolean;
};
export type RebuildOptions = {
  quick: boolean;
  rounds: number;
  records: number | null;
  json: string | null;
  writeDocs: boolean;
};
export type ServingOptions = {
  quick: boolean;
  rounds: number;
  only: ServingName[] | null;
  connections: number;
  tickets: number[] | null;
  json: string | null;
  writeDocs: boolean;
};
export type TracesOptions = { rounds: number; connections: number };

export type MemoryOptions = { records: number; delayMs: number };

export type Bench =
  | { name: 'projecting'; options: ProjectingOptions }
  | { name: 'rebuild'; options: RebuildOptions }
  | { name: 'serving'; options: ServingOptions }
  | { name: 'traces'; options: TracesOptions }
  | { name: 'memory'; options: MemoryOptions };

export type BenchArguments = { bench: Bench } | { help: true } | { usageError: string };

const options = {
  quick: { type: 'boolean' },
  rounds: { type: 'string' },
  only: { type: 'string' },
  json: { type: 'string' },
  'write-docs': { type: 'boolean' },
  connections: { type: 'string' },
  tickets: { type: 'string' },
  records: { type: 'string' },
  delay: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

type Values = NonNullable<ReturnType<typeof parseArgs<{ options: typeof options }>>['values']>;

/** Reads a command line: a benchmark with its options, a request for help, or the message of a usage error. */
export function parseArguments(given: string[]): BenchArguments {
  let parsed;
  try {
    parsed = parseArgs({ args: given, allowPositionals: true, options });
  } catch (error) {
    return { usageError: errorMessage(error) };
  }
  const { values, positionals } = parsed;
  if (values.help) return { help: true };
  const [name = 'projecting', ...more] = positionals;
  if (more.length > 0) return { usageError: `Not understood after ${name}: ${more.join(' ')}` };
  try {
    if (name === 'projecting') return { bench: { name, options: projectingOptions(values) } };
    if (name === 'rebuild') return { bench: { name, options: rebuildOptions(values) } };
    if (name === 'serving') return { bench: { name, options: servingOptions(values) } };
    if (name === 'traces') return { bench: { name, options: tracesOptions(values) } };
    if (name === 'memory') return { bench: { name, options: memoryOptions(values) } };
  } catch (error) {
    if (error instanceof UsageError) return { usageError: error.message };
    throw error;
  }
  return { usageError: `Unknown benchmark: ${name}` };
}

class UsageError extends Error {
  override name = 'UsageError';
}

function projectingOptions(values: Values): ProjectingOptions {
  refuse(values, ['connections', 'tickets', 'records', 'delay'], 'projecting');
  return { ...roundsAndOutput(values), only: namesIn(values.only, contenderNames) };
}

function rebuildOptions(values: Values): RebuildOptions {
  refuse(values, ['connections', 'tickets', 'only', 'delay'], 'rebuild');
  const records = values.records === undefined ? null : wholeNumber('records', values.records, 0, 10_000_000);
  if (records !== null && records < recordsMin)
    throw new UsageError(`--records takes ${recordsMin} or more; given: ${records}`);
  return { ...roundsAndOutput(values), records };
}

function servingOptions(values: Values): ServingOptions {
  refuse(values, ['records', 'delay'], 'serving');
  const sizes = values.tickets?.split(',').map((word) => wholeNumber('tickets', word, 0, 10_000_000));
  return {
    ...roundsAndOutput(values),
    only: namesIn(values.only, servingNames),
    connections: wholeNumber('connections', values.connections, 32, 1_000),
    tickets: sizes?.toSorted((a, b) => a - b) ?? null,
  };
}

function roundsAndOutput(values: Values) {
  const { quick = false, json = null, 'write-docs': writeDocs = false } = values;
  if (writeDocs && (quick || values.only !== undefined)) {
    throw new UsageError(`--write-docs does not go with ${quick ? '--quick' : '--only'}`);
  }
  if (json !== null && !existsSync(dirname(json))) {
    throw new UsageError(`--json ${json}: the folder ${dirname(json)} does not exist`);
  }
  return { quick, rounds: wholeNumber('rounds', values.rounds, quick ? 1 : 3, 100), json, writeDocs };
}

function tracesOptions(values: Values): TracesOptions {
  refuse(values, ['quick', 'only', 'json', 'write-docs', 'tickets', 'records', 'delay'], 'traces');
  return {
    rounds: wholeNumber('rounds', values.rounds, 20, 100),
    connections: wholeNumber('connections', values.connections, 16, 1_000),
  };
}

function memoryOptions(values: Values): MemoryOptions {
  refuse(values, ['quick', 'rounds', 'only', 'json', 'write-docs', 'tickets', 'connections'], 'memory');
  return {
    records: wholeNumber('records', values.records, 1_000_000, 10_000_000),
    delayMs: wholeNumber('delay', values.delay, 1_500, 60_000),
  };
}

function refuse(values: Values, names: (keyof Values)[], bench: string): void {
  const [name] = names.filter((one) => values[one] !== undefined);
  if (name !== undefined) throw new UsageError(`--${name} does not go with ${bench}`);
}

/** The named contenders; null for all of them. */
function namesIn<T extends string>(words: string | undefined, known: readonly T[]): T[] | null {
  if (words === undefined) return null;
  return words.split(',').map((word) => {
    const found = known.find((name) => name === word);
    if (found === undefined) throw new UsageError(`--only ${word}: known are ${known.join(', ')}`);
    return found;
  });
}

function wholeNumber(name: string, word: string | undefined, byDefault: number, max: number): number {
  if (word === undefined) return byDefault;
  const value = Number(word);
  if (/^\d+$/.test(word) && value >= 1 && value <= max) return value;
  throw new UsageError(`--${name} takes a whole number from 1 to ${max}; given: ${word}`);
}
