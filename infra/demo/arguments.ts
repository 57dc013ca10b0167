import { parseArgs } from 'node:util';
import { sizes, type Size } from '../sample-data/sample-data.ts';

export const usage = `Usage: npm start -- [options]

Starts Kafka and a MongoDB (or a server that speaks its protocol), publishes a generated support desk,
projects it, serves it over HTTPS, and goes on with live changes until Ctrl-C.

  --size small|medium|large   about 200, 2,000 or 20,000 tickets; medium unless told
  --seed N                    another desk for another whole number; 1 unless told
  --quiet                     print the API key, the curl lines and errors only
  --help                      print this
`;

export type DemoOptions = { size: Size; seed: number; quiet: boolean };

/** The options of a command line, the help it asks for, or what is wrong with it. */
export function parseArguments(given: string[]): DemoOptions | { help: true } | { fault: string } {
  let values;
  try {
    ({ values } = parseArgs({
      args: given,
      options: {
        size: { type: 'string', default: 'medium' },
        seed: { type: 'string', default: '1' },
        quiet: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }));
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
  if (values.help) return { help: true };
  const size = (Object.keys(sizes) as Size[]).find((name) => name === values.size);
  if (!size) return { fault: `--size takes ${Object.keys(sizes).join(', ')}; given: ${values.size}` };
  if (!/^\d{1,9}$/.test(values.seed)) return { fault: `--seed takes a whole number; given: ${values.seed}` };
  return { size, seed: Number(values.seed), quiet: values.quiet };
}
