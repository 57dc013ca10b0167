export const verbs = ['up', 'down', 'status', 'env'] as const;
export type Verb = (typeof verbs)[number];

export const usage = `Usage: npm run stack -- <verb>

  up       start a Kafka and a MongoDB (or a server that speaks its protocol) that stay until \`down\`:
           in Docker where an engine answers, otherwise as processes of this machine
  status   what runs, where it answers, under which pid; exit code 1 unless all of it runs
  env      the addresses as \`export\` lines:  eval "$(npm run --silent stack -- env)"
  down     stop what \`up\` started and remove its data
`;

export type Arguments = { verb: Verb } | { help: true } | { fault: string };

/** The verb of a command line, the help it asks for, or what is wrong with it. */
export function parseArguments(given: readonly string[]): Arguments {
  if (given.some((word) => ['--help', '-h', 'help'].includes(word))) return { help: true };
  const [word, ...more] = given;
  if (word === undefined) return { fault: 'No verb given.' };
  const verb = verbs.find((name) => name === word);
  if (verb === undefined) return { fault: `Unknown verb: ${word}` };
  return more.length === 0 ? { verb } : { fault: `Not understood after ${verb}: ${more.join(' ')}` };
}
