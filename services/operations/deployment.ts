import type { AcceptableFinding } from '../../shared/control/generations.ts';

export const deployments = ['source', 'compose', 'helm'] as const;

export type Deployment = (typeof deployments)[number];

export type Commands = {
  /** Starts the CLI; a verb follows. */
  cli: string;
  /** Starts a projector of a generation. Helm needs a change of the values first, so its text says which. */
  projector: (generation: number) => string;
};

/** The commands of each deployment: in a clone, beside docker-compose.yml, and in the chart's pod of the CLI. */
export const commandsIn: Record<Deployment, Commands> = {
  source: { cli: 'npx support-cli', projector: (generation) => `GENERATION=${generation} npm run projector` },
  compose: {
    cli: 'docker compose run --rm cli',
    projector: (generation) => `docker compose run --detach --env GENERATION=${generation} projector`,
  },
  helm: {
    cli: 'support-cli',
    projector: (generation) => `helm upgrade with { number: ${generation}, replicas: 1 } in generations`,
  },
};

/** The command that accepts a finding about a generation. */
export const acceptCommand = (
  { cli }: Pick<Commands, 'cli'>,
  finding: AcceptableFinding,
  generation: number,
): string => `${cli} accept ${finding} ${generation} --why <reason>`;

/** A value as one word of a shell command: quoted if it has special characters, which an id from Kafka may have. */
export const shellWord = (value: string): string =>
  /^[\w.,/:=@%+-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`;
