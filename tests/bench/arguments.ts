import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { contenderNames, type ContenderName } from './projecting/contender-names.ts';

export const usage = `Usage: npm run bench -- [projecting|traces] [options]

  projecting (unless told otherwise)   the projector beside other ways to carry the same records into the store
    --quick            everything once, with few records, in a minute or two
    --rounds N         how often each contender runs, 1 to 100; 3 unless told, 1 with --quick
    --only A,B         these alone: ${contenderNames.join(', ')}
    --json FILE        write every figure to this file
    --write-docs       write docs/benchmarks.md and docs/benchmarks.svg; not with --quick or --only

  traces                               what request traces cost the API
    --rounds N         1 to 100; 20 unless told
    --connections N    keep-alive connections of the load, 1 to 1000; 16 unless told

  Servers come from KAFKA_BROKERS and MONGODB_URL, from Docker, or from package registries, as for npm test.
`;

export type ProjectingOptions = {
  quick: boolean;
  rounds: number;
  only: ContenderName[] | null;
  json: string | null;
  writeDocs: boolean;
};
export type TracesOptions = { rounds: number; connections: number };

export type Bench =
  { name: 'projecting'; options: ProjectingOptions } | { name: 'traces'; options: TracesOptions };

export type BenchArguments = { bench: Bench } | { help: true } | { usageError: string };

const options = {
  quick: { type: 'boolean' },
  rounds: { type: 'string' },
  only: { type: 'string' },
  json: { type: 'string' },
  'write-docs': { type: 'boolean' },
  connections: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

type Values = NonNullable<ReturnType<typeof parseArgs<{ options: typeof options }>>['values']>;

/** Reads a command line: a benchmark with its options, the help, or a message that names what is wrong. */
export function parseArguments(given: string[]): BenchArguments {
  let parsed;
  try {
    parsed = parseArgs({ args: given, allowPositionals: true, options });
  } catch (error) {
    return { usageError: error instanceof Error ? error.message : String(error) };
  }
  const { values, positionals } = parsed;
  if (values.help) return { help: true };
  const [name = 'projecting', ...more] = positionals;
  if (more.length > 0) return { usageError: `Not understood after ${name}: ${more.join(' ')}` };
  try {
    if (name === 'projecting') return { bench: { name, options: projectingOptions(values) } };
    if (name === 'traces') return { bench: { name, options: tracesOptions(values) } };
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
  refuse(values, ['connections'], 'projecting');
  const { quick = false, json = null, 'write-docs': writeDocs = false } = values;
  const only = values.only === undefined ? null : values.only.split(',').map(contenderName);
  if (writeDocs && (quick || only)) {
    throw new UsageError(`--write-docs does not go with ${quick ? '--quick' : '--only'}`);
  }
  if (json !== null && !existsSync(dirname(json))) {
    throw new UsageError(`--json ${json}: the folder ${dirname(json)} does not exist`);
  }
  return { quick, rounds: wholeNumber('rounds', values.rounds, quick ? 1 : 3, 100), only, json, writeDocs };
}

function tracesOptions(values: Values): TracesOptions {
  refuse(values, ['quick', 'only', 'json', 'write-docs'], 'traces');
  return {
    rounds: wholeNumber('rounds', values.rounds, 20, 100),
    connections: wholeNumber('connections', values.connections, 16, 1_000),
  };
}

function refuse(values: Values, names: (keyof Values)[], bench: string): void {
  const [name] = names.filter((one) => values[one] !== undefined);
  if (name !== undefined) throw new UsageError(`--${name} does not go with ${bench}`);
}

function contenderName(word: string): ContenderName {
  const found = contenderNames.find((name) => name === word);
  if (!found) throw new UsageError(`--only ${word}: known are ${contenderNames.join(', ')}`);
  return found;
}

function wholeNumber(name: string, word: string | undefined, otherwise: number, max: number): number {
  if (word === undefined) return otherwise;
  const value = Number(word);
  if (/^\d+$/.test(word) && value >= 1 && value <= max) return value;
  throw new UsageError(`--${name} takes a whole number from 1 to ${max}; given: ${word}`);
}
