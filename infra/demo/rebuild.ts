import { commandsIn } from '../../services/operations/deployment.ts';
import { startService, type Service } from '../service.ts';
import type { Output } from './output.ts';
import { shellLine, showRequest, type Access } from './requests.ts';

type RebuildDemo = {
  output: Output;
  /** The settings of the services, which the commands need too. */
  environment: Record<string, string>;
  access: Access;
  api: Service;
  /** The projector of generation 1. */
  oldProjector: Service;
  startProjector: (generation: number) => Service;
  /** Receives each command that runs, to stop it with the demo. */
  keep: (command: Service) => void;
  /** Called before generation 1 is dropped: its projector ends then. */
  onDrop: () => void;
};

const shared = ['KAFKA_BROKERS', 'MONGODB_URL', 'DATABASE_NAME', 'TOPIC_PREFIX', 'CONSUMER_GROUP'];
const next = 2;

/** Shows a rebuild by the commands of an operator, while live changes go on. Rejects if one of them fails. */
export async function showRebuild(demo: RebuildDemo): Promise<void> {
  const { output, environment, startProjector } = demo;
  output.say(
    '\nA rebuild follows, by the commands of an operator. In another terminal they need these settings:',
  );
  output.always(shellLine(['export', ...shared.map((name) => `${name}=${environment[name] ?? ''}`)]));
  const steps = [
    {
      title: 'Check that a rebuild is safe, and register a new generation',
      run: () => command(demo, ['rebuild', 'start', '--why', 'the demo']),
    },
    {
      title: 'Run a projector on it, beside the projector of the generation that is served',
      run: async () => {
        output.always(commandsIn.source.projector(next));
        await startProjector(next).logged('projecting');
      },
    },
    {
      title: 'Wait until it has applied the log, and follows the live changes',
      run: () => command(demo, ['rebuild', 'await', `${next}`]),
    },
    {
      title: 'Compare each of its documents with the one that is served',
      run: () => command(demo, ['rebuild', 'compare', `${next}`]),
    },
    { title: 'Serve it', run: () => command(demo, ['rebuild', 'promote', `${next}`]) },
    { title: 'Read from it', run: () => read(demo) },
    {
      title: 'Go back: the generation before has followed the live changes, too',
      run: () => command(demo, ['rebuild', 'rollback', '1']),
    },
    { title: 'Serve the new generation again', run: () => command(demo, ['rebuild', 'promote', `${next}`]) },
    { title: 'Drop the old one, once no request reads it any more', run: () => drop(demo) },
  ];
  for (const [index, { title, run }] of steps.entries()) {
    output.say(`\nRebuild, step ${index + 1} of ${steps.length}. ${title}`);
    await run();
  }
  output.say(`\nGeneration ${next} is served, and live changes go on. Ctrl-C stops everything.`);
}

async function command({ output, environment, keep }: RebuildDemo, words: string[]): Promise<void> {
  output.always(commandLine(words));
  await runCommand(words, { environment, keep, onLine: (line) => output.say(`  ${line}`) });
}

/** The command as an operator types it. */
export const commandLine = (words: string[]): string => `${commandsIn.source.cli} ${shellLine(words)}`;

/** Runs a command of the CLI and passes on each line as soon as it is printed. Rejects with the output if it fails. */
export async function runCommand(
  words: string[],
  {
    environment,
    keep,
    onLine,
  }: Pick<RebuildDemo, 'environment' | 'keep'> & { onLine: (line: string) => void },
): Promise<void> {
  // Without LOG_LEVEL it logs errors only.
  const settings = { ...environment, LOG_LEVEL: undefined };
  const started = startService('cli', settings, words, { onLine, ownGroup: true });
  keep(started);
  const code = await started.exited;
  const printed = `${started.stdout()}\n${started.stderr()}`.trim();
  if (code !== 0)
    throw new Error(`${commandLine(words)} failed (${exitText(code)}). It printed:\n${printed}`);
}

/** `exit code 1` or `SIGKILL`, for example. */
export const exitText = (exit: number | string): string =>
  typeof exit === 'number' ? `exit code ${exit}` : exit;

async function read({ output, access, api }: RebuildDemo): Promise<void> {
  await showRequest(access, '/v1/tickets?limit=1', output, 12);
  const generation = api.log.findLast(({ msg }) => msg === 'serving generation')?.generation;
  output.say(`The API has logged: serving generation ${String(generation)}`);
  if (generation !== next) throw new Error(`The API serves generation ${String(generation)}, not ${next}`);
}

async function drop(demo: RebuildDemo): Promise<void> {
  demo.onDrop();
  await command(demo, ['rebuild', 'drop', '1', '--force']);
  demo.output.say(
    `The projector of generation 1 has ended by itself: ${exitText(await demo.oldProjector.exited)}`,
  );
}
