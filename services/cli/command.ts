import { parseArgs } from 'node:util';
import { requestIdShape } from '../../shared/runtime/request-traces.ts';
import { deadLettersUsage, parseDeadLetters, type DeadLettersCommand } from './dead-letters/command.ts';

/** A verb with its options, or what is wrong with the words given. */
export type Command =
  | { verb: 'help' }
  | { verb: 'topics create'; partitions: number }
  | { verb: 'status'; json: boolean }
  | { verb: 'trace'; requestId: string; json: boolean }
  | DeadLettersCommand
  | { fault: string };

export const usage = `Usage: npm run cli -- <verb> [options]

  topics create [--partitions N]   Create the bus's topics and the dead-letter topic where they are absent
                                   (1 to 1000 partitions each, 3 unless told).
  status [--json]                  Positions, ends and lag by partition; documents by kind; what is pending;
                                   dead letters; the watermark; topics that a rebuild cannot rely on.
  trace <Request-Id> [--json]      What is kept of one request to the API: route, parameters, status, duration,
                                   key, organization, replica. Needs the store only.
${deadLettersUsage}
  topics create and status read KAFKA_BROKERS and MONGODB_URL from the environment, the others MONGODB_URL alone.
  Exit codes: 0 done; 1 not done, or not all of it; 2 wrong words or a bad configuration.
`;

/** Reads the words behind \`npm run cli --\`. */
export function parseCommand(words: string[]): Command {
  const [first, ...others] = words;
  const wantsHelp = words.includes('--help') || words.includes('-h');
  if (first === 'dead-letters' && !wantsHelp) return parseDeadLetters(others);
  let parsed;
  try {
    parsed = parseArgs({
      args: words,
      allowPositionals: true,
      options: {
        partitions: { type: 'string' },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
  const { values, positionals } = parsed;
  const json = values.json ?? false;
  if (positionals[0] === 'trace' && !values.help) return traceCommand(positionals.slice(1), values);
  const verb = positionals.join(' ');
  if (values.help || verb === 'help') return { verb: 'help' };
  if (verb === 'topics create') {
    if (json) return { fault: '--json goes with status and trace' };
    const partitions = Number(values.partitions ?? '3');
    if (!/^\d+$/.test(values.partitions ?? '3') || partitions < 1 || partitions > 1_000) {
      return { fault: '--partitions takes a whole number from 1 to 1000' };
    }
    return { verb, partitions };
  }
  if (verb === 'status') {
    if (values.partitions !== undefined) return { fault: '--partitions goes with topics create' };
    return { verb, json };
  }
  return { fault: verb === '' ? 'no verb given' : `unknown verb: ${verb}` };
}

function traceCommand(
  [requestId = '', ...more]: string[],
  { partitions, json = false }: { partitions?: string; json?: boolean },
): Command {
  if (partitions !== undefined) return { fault: '--partitions goes with topics create' };
  if (more.length > 0 || !requestIdShape.test(requestId)) {
    return { fault: 'trace takes one request id, as the header Request-Id gave it: req_ and 26 characters' };
  }
  return { verb: 'trace', requestId, json };
}
