export const verbs = ['up', 'down', 'status', 'env'] as const;
export type Verb = (typeof verbs)[number];

export const usage = `Usage: npm run stack -- <verb>

  up       start Kafka and MongoDB (or a server that speaks its protocol); they run until \`down\`:
           in Docker if an engine answers, otherwise as processes on this machine
  status   list each server with its address and its pid or container; exit code 1 unless all are running
  env      print the addresses as \`export\` lines:  eval "$(npm run --silent stack -- env)"
  down     stop the servers that \`up\` started and remove their data
`;

export type Arguments = { verb: Verb } | { help: true } | { usageError: string };

/** Returns the verb, a request for help, or a usage error. */
export function parseArguments(args: readonly string[]): Arguments {
  if (args.some((argument) => ['--help', '-h', 'help'].includes(argument))) return { help: true };
  const [name, ...extra] = args;
  if (name === undefined) return { usageError: 'A verb is missing.' };
  const verb = verbs.find((known) => known === name);
  if (verb === undefined) return { usageError: `Unknown verb: ${name}` };
  return extra.length === 0 ? { verb } : { usageError: `Unexpected after ${verb}: ${extra.join(' ')}` };
}
