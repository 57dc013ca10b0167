import { kinds } from '../../../shared/documents/document.ts';
import { storeTime } from '../../../shared/store/clock.ts';
import { NoSuchGeneration } from '../../../shared/control/generations.ts';
import { commandsIn } from '../../operations/deployment.ts';
import { awaitReady } from '../../operations/rebuild/await-ready.ts';
import type { SwitchOptions } from '../../operations/rebuild/checks.ts';
import { compareWithActive, verifyGeneration } from '../../operations/rebuild/compare-generations.ts';
import type { ComparisonResult } from '../../operations/rebuild/compare.ts';
import type { OperatorDeps } from '../../operations/rebuild/deps.ts';
import type { Expectation } from '../../operations/rebuild/differences.ts';
import { dropGeneration, readersOf, readersText } from '../../operations/rebuild/drop.ts';
import { startRebuild } from '../../operations/rebuild/start.ts';
import { watchStatus } from '../../operations/rebuild/status.ts';
import { switchTo } from '../../operations/rebuild/switch.ts';
import { topicOf } from '../../projector/events/topics.ts';
import { RebuildRefused, requireRegistry } from '../../../shared/control/registry.ts';
import { configs } from '../config.ts';
import { withKafka, withMongo, type CommandOutput, type Context, type Terminal } from '../context.ts';
import { operatorName } from '../operator.ts';
import { output, type Json } from '../output.ts';
import { renderComparison, renderHistory, renderStarted, renderStatus, renderSwitched } from './render.ts';

type Flag = true | undefined;
type Numbered = Json & { generation: number };
type Verb<O> = (deps: OperatorDeps, options: O, terminal: Terminal) => Promise<CommandOutput>;

/** Connects a verb to Kafka and MongoDB. A refusal is one message, and exit code 1. */
export const withServers =
  <O extends Json>(run: Verb<O>) =>
  (context: Context, options: O): Promise<CommandOutput> => {
    const config = configs.everything(context.environment);
    return withKafka(context, config, (kafka) =>
      withMongo(config, async (clients) => {
        const deps = {
          ...kafka,
          ...clients,
          config,
          topics: kinds.map((kind) => topicOf(kind, config.TOPIC_PREFIX)),
          now: () => storeTime(clients.control),
          by: operatorName(config.OPERATOR),
          report: context.terminal.report,
        };
        return run(deps, options, context.terminal).catch((error: unknown) => {
          if (!(error instanceof RebuildRefused) && !(error instanceof NoSuchGeneration)) throw error;
          const { message } = error;
          return output(options, { refused: message }, `${context.verb} refused: ${message}\n`, 1);
        });
      }),
    );
  };

export const start: Verb<Json & { acceptTruncated?: Flag; why: string }> = async (deps, options) => {
  const { acceptTruncated = false, why } = options;
  const started = await startRebuild(deps, { acceptTruncated, why });
  const text = renderStarted(commandsIn[deps.config.DEPLOYMENT], started);
  return output(options, { generation: started.number, checks: started.checks }, text);
};

export const status: Verb<Json & { watch?: Flag }> = async (deps, options, { print }) => {
  for await (const found of watchStatus(deps)) {
    const text = renderStatus(found.generations);
    if (!options.watch) return output(options, found, text);
    // One JSON value on each line.
    print(options.json ? `${JSON.stringify(found)}\n` : `${(await deps.now()).toISOString()}\n${text}\n`);
  }
  throw new Error('the status has ended');
};

export const history: Verb<Json> = async ({ control }, options) => {
  const { history: transitions } = await requireRegistry(control);
  return output(options, transitions, renderHistory(transitions));
};

export const awaitVerb: Verb<Numbered & { maxLag: number; timeout: number }> = async (deps, options) => {
  const { generation } = options;
  const { text, ...readiness } = await awaitReady(deps, generation, options);
  const exitCode = ({ ready: 0, 'time is up': 1, stopped: 3, failing: 3 } as const)[readiness.outcome];
  const reason = exitCode === 3 ? { text } : {};
  return output(options, { generation, ...readiness, ...reason }, `${text}\n`, exitCode);
};

export const compare: Verb<Numbered & { expect?: Expectation[] | undefined }> = async (deps, options) => {
  const { generation, expect = [] } = options;
  return resultOutput(options, generation, await compareWithActive(deps, generation, expect));
};

export const verify: Verb<Json & { generation?: number | undefined }> = async (deps, options) => {
  const { number: generation, result } = await verifyGeneration(deps, options.generation);
  return resultOutput(options, generation, result);
};

const resultOutput = (options: Json, generation: number, result: ComparisonResult) =>
  output(
    options,
    { generation, ...result },
    renderComparison(generation, result),
    result.differences > 0 ? 1 : 0,
  );

type Switch = Numbered & { acceptOlder?: Flag; dryRun?: Flag; timeout: number; why: string };

export const promote: Verb<Switch> = (deps, options) =>
  switchGeneration(deps, options, { needsComparison: true });

export const rollback: Verb<Switch> = (deps, options) =>
  switchGeneration(deps, options, { needsComparison: false });

async function switchGeneration(
  deps: OperatorDeps,
  options: Switch,
  rules: Pick<SwitchOptions, 'needsComparison'>,
): Promise<CommandOutput> {
  const { acceptOlder = false, dryRun = false, timeout: timeoutSeconds, why } = options;
  const { number: generation, ...switched } = await switchTo(deps, options.generation, {
    ...rules,
    acceptOlder,
    dryRun,
    timeoutSeconds,
    why,
  });
  const isRefused = switched.checks.some(({ isMet }) => !isMet);
  const exitCode = isRefused || switched.waiting.length > 0 ? 1 : 0;
  return output(
    options,
    { generation, ...switched },
    renderSwitched({ number: generation, ...switched }),
    exitCode,
  );
}

export const drop: Verb<Numbered & { force?: Flag; dryRun?: Flag; timeout: number; why: string }> = async (
  deps,
  options,
) => {
  const { generation, force = false, dryRun, timeout: timeoutSeconds, why } = options;
  if (dryRun) {
    const readers = await readersOf(deps, generation);
    const by = readersText(readers, generation) || 'no replica';
    const text = `generation ${generation} is read by ${by}\ndry run: nothing was changed\n`;
    return output(options, { generation, outcome: 'dry-run', readers }, text);
  }
  const outcome = await dropGeneration(deps, generation, { force, why, timeoutSeconds });
  const text = `generation ${generation} ${outcome === 'dropped' ? 'is dropped' : 'was dropped before'}\n`;
  return output(options, { generation, outcome }, text);
};
