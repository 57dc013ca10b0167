import { requireRegistry } from '../../../shared/control/registry.ts';
import { commandsIn } from '../../operations/deployment.ts';
import type { OperatorDeps } from '../../operations/deps.ts';
import { awaitReady } from '../../operations/rebuild/await-ready.ts';
import { compareWithActive } from '../../operations/rebuild/compare-generations.ts';
import type { Expectation } from '../../operations/rebuild/differences.ts';
import { dropGeneration } from '../../operations/rebuild/drop.ts';
import { startRebuild } from '../../operations/rebuild/start.ts';
import { type SwitchOptions, switchTo } from '../../operations/rebuild/switch.ts';
import { watchReports } from '../../operations/report.ts';
import { type Context, isClosedPipe, type Output } from '../context.ts';
import { withKafkaAndMongo, withReadModel, withStatusFacts } from '../operate.ts';
import { type Flag, type Json, lines, output } from '../output.ts';
import { renderReport } from '../render-report.ts';
import { renderComparison, renderHistory, renderStarted, renderSwitched } from './render.ts';

type Numbered = Json & { generation: number };

export function start(context: Context, options: Json & { why: string }): Promise<Output> {
  return withKafkaAndMongo(context, options, async (deps) => {
    const generation = await startRebuild(deps, options);
    return output(options, { generation }, renderStarted(commandsIn[deps.config.DEPLOYMENT], generation));
  });
}

export const status = (context: Context, options: Json & { watch?: Flag }): Promise<Output> =>
  withStatusFacts(context, async ({ now, read }) => {
    for await (const report of watchReports(read)) {
      const text = renderReport(report);
      if (!options.watch) return output(options, report, text);
      // One JSON value on each line.
      const time = (await now()).toISOString();
      const reading = options.json ? lines([JSON.stringify(report)]) : lines([time]) + text + lines(['']);
      try {
        await context.terminal.print(reading);
      } catch (error) {
        if (isClosedPipe(error)) return { text: '', exitCode: 0 };
        throw error;
      }
    }
    throw new Error('the status has ended');
  });

export function history(context: Context, options: Json): Promise<Output> {
  return withReadModel(context, async ({ control }) => {
    const { history: transitions } = await requireRegistry(control);
    return output(options, transitions, renderHistory(transitions));
  });
}

const awaitExitCodes = { ready: 0, 'time is up': 1, stopped: 3, failing: 3 } as const;

type AwaitOptions = Numbered & { timeout: number };

export function awaitGeneration(context: Context, options: AwaitOptions): Promise<Output> {
  return withKafkaAndMongo(context, options, (deps) => printReadiness(deps, options));
}

export async function printReadiness(deps: OperatorDeps, options: AwaitOptions): Promise<Output> {
  const { generation, timeout } = options;
  const { text, ...readiness } = await awaitReady(deps, generation, timeout);
  const exitCode = awaitExitCodes[readiness.outcome];
  const reason = exitCode === 3 ? { text } : {};
  return output(options, { generation, ...readiness, ...reason }, lines([text]), exitCode);
}

type CompareOptions = Numbered & { expect?: Expectation[] | undefined };

export function compare(context: Context, options: CompareOptions): Promise<Output> {
  return withKafkaAndMongo(context, options, (deps) => printComparison(deps, options));
}

export async function printComparison(deps: OperatorDeps, options: CompareOptions): Promise<Output> {
  const { generation, expect = [] } = options;
  const result = await compareWithActive(deps, generation, expect);
  const exitCode = result.differences > 0 ? 1 : 0;
  return output(options, { generation, ...result }, renderComparison(generation, result), exitCode);
}

type SwitchArguments = Numbered & { dryRun?: Flag; timeout: number; why: string };

export function promote(context: Context, options: SwitchArguments): Promise<Output> {
  return withKafkaAndMongo(context, options, (deps) => printPromotion(deps, options));
}

export function rollback(context: Context, options: SwitchArguments): Promise<Output> {
  return withKafkaAndMongo(context, options, (deps) => printSwitch(deps, 'rollback', options));
}

export const printPromotion = (deps: OperatorDeps, options: SwitchArguments): Promise<Output> =>
  printSwitch(deps, 'promote', options);

async function printSwitch(
  deps: OperatorDeps,
  step: SwitchOptions['step'],
  options: SwitchArguments,
): Promise<Output> {
  const { generation, timeout: timeoutSeconds } = options;
  const switched = await switchTo(deps, generation, { ...options, step, timeoutSeconds });
  const isRefused = switched.findings.some(({ isAccepted }) => !isAccepted);
  const exitCode = isRefused || switched.waiting.length > 0 ? 1 : 0;
  return output(options, switched, renderSwitched(switched), exitCode);
}

type DropArguments = SwitchArguments & { force?: Flag };

export function drop(context: Context, options: DropArguments): Promise<Output> {
  return withKafkaAndMongo(context, options, async (deps) => {
    const { generation, timeout: timeoutSeconds } = options;
    const outcome = await dropGeneration(deps, generation, { ...options, timeoutSeconds });
    const text = {
      dropped: `generation ${generation} is dropped`,
      'was-dropped': `generation ${generation} was dropped before`,
      'dry-run': 'dry run: every check passes; nothing was changed',
    }[outcome];
    return output(options, { generation, outcome }, lines([text]));
  });
}
