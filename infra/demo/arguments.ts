import { parseArgs } from 'node:util';
import { errorMessage } from '../../shared/runtime/error-message.ts';
import { sizes, type Size } from '../sample-data/sample-data.ts';

export const usage = `Usage: npm start -- [options]

Starts Kafka and MongoDB (or a server that speaks its protocol), publishes generated support data to Kafka,
projects it into documents, serves them over HTTPS, and publishes live changes until Ctrl-C.

  --size small|medium|large   about 200, 2,000 or 20,000 tickets; default medium
  --seed N                    a whole number; another seed generates other data; default 1
  --rebuild                   while live changes go on, build the documents again beside the served ones, verify them,
                              switch to them, back and forth, and drop the old ones; each step by its command
  --quiet                     print the API key, the commands and errors only
  --help                      print this help
`;

export type DemoOptions = { size: Size; seed: number; rebuild: boolean; quiet: boolean };

/** Returns the options, a request for help, or a usage error. */
export function parseArguments(args: string[]): DemoOptions | { help: true } | { usageError: string } {
  let values;
  try {
    ({ values } = parseArgs({
      args,
      options: {
        size: { type: 'string', default: 'medium' },
        seed: { type: 'string', default: '1' },
        rebuild: { type: 'boolean', default: false },
        quiet: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }));
  } catch (error) {
    return { usageError: errorMessage(error) };
  }
  if (values.help) return { help: true };
  const size = (Object.keys(sizes) as Size[]).find((name) => name === values.size);
  if (!size)
    return { usageError: `--size must be one of ${Object.keys(sizes).join(', ')}, not ${values.size}` };
  if (!/^\d{1,9}$/.test(values.seed))
    return { usageError: `--seed must be a whole number below 1,000,000,000, not ${values.seed}` };
  const { rebuild, quiet } = values;
  return { size, seed: Number(values.seed), rebuild, quiet };
}
