import { parseArguments, usage, type Bench } from './arguments.ts';

/** `npm run bench`: fails if something cannot be measured, never because of a time. */
const given = parseArguments(process.argv.slice(2));
if ('help' in given) {
  process.stdout.write(usage);
} else if ('usageError' in given) {
  process.stderr.write(`${given.usageError}\n\n${usage}`);
  process.exitCode = 2;
} else {
  try {
    await run(given.bench);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exitCode = 1;
  }
}

/** Loads only the modules of this benchmark: the projector's needs no API, and the API's needs no projector. */
async function run(bench: Bench): Promise<void> {
  switch (bench.name) {
    case 'projecting':
      return (await import('./projecting/projecting.ts')).benchProjecting(bench.options);
    case 'rebuild':
      return (await import('./rebuild/rebuild.ts')).benchRebuild(bench.options);
    case 'serving':
      return (await import('./serving/serving.ts')).benchServing(bench.options);
    case 'memory':
      return (await import('./memory.ts')).benchMemory(bench.options);
    case 'traces':
      return (await import('./traces.ts')).benchTraces(bench.options);
  }
}
