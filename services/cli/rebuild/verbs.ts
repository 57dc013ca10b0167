import { requireRegistry } from '../../../shared/control/registry.ts';
import { commandsIn } from '../../operations/deployment.ts';
import { awaitReady } from '../../operations/rebuild/await-ready.ts';
import { compareWithActive } from '../../operations/rebuild/compare-generations.ts';
import type { Expectation } from '../../operations/rebuild/differences.ts';
import { dropGeneration } from '../../operations/rebuild/drop.ts';
import { startRebuild } from '../../operations/rebuild/start.ts';
import { type SwitchOptions, switchTo } from '../../operations/rebuild/switch.ts';
import { watchReports } from '../../operations/report.ts';
import { type Context, isClosedPipe, type Output } from '../context.ts';
import { type OperatorVerb, type ReadModelVerb, withStatusFacts } from '../operate.ts';
import { type Json, lines, output } from '../output.ts';
import { renderReport } from '../render-report.ts';
import { renderComparison, renderHistory, renderStarted, renderSwitched } from './render.ts';

type Flag = true | undefined;
type Numbered = Json & { generation: number };

export const start: OperatorVerb<Json & { why: string }> = async (deps, options) => {
  const generation = await startRebuild(deps, options);
  return output(options, { generation }, renderStarted(commandsIn[deps.config.DEPLOYMENT], generation));
};

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

export const history: ReadModelVerb<Json> = async ({ control }, options) => {
  const { history: transitions } = await requireRegistry(control);
  return output(options, transitions, renderHistory(transitions));
};

export const awaitGeneration: OperatorVerb<Numbered & { timeout: number }> = async (deps, options) => {
  const { generation, timeout } = options;
  const { text, ...readiness } = await awaitReady(deps, generation, timeout);
  const exitCode = ({ ready: 0, 'time is up': 1, stopped: 3, failing: 3 } as const)[readiness.outcome];
  const reason = exitCode === 3 ? { text } : {};
  return output(options, { generation, ...readiness, ...reason }, lines([text]), exitCode);
};

export const compare: OperatorVerb<Numbered & { expect?: Expectation[] | undefined }> = async (
  deps,
  options,
) => {
  const { generation, expect = [] } = options;
  const result = await compareWithActive(deps, generation, expect);
  const exitCode = result.differences > 0 ? 1 : 0;
  return output(options, { generation, ...result }, renderComparison(generation, result), exitCode);
};

type SwitchArguments = Numbered & { dryRun?: Flag; timeout: number; why: string };

export const createSwitchVerb =
  (step: SwitchOptions['step']): OperatorVerb<SwitchArguments> =>
  async (deps, options) => {
    const { generation, timeout: timeoutSeconds } = options;
    const switched = await switchTo(deps, generation, { ...options, step, timeoutSeconds });
    const isRefused = switched.findings.some(({ isAccepted }) => !isAccepted);
    const exitCode = isRefused || switched.waiting.length > 0 ? 1 : 0;
    return output(options, switched, renderSwitched(switched), exitCode);
  };

export const drop: OperatorVerb<SwitchArguments & { force?: Flag }> = async (deps, options) => {
  const { generation, timeout: timeoutSeconds } = options;
  const outcome = await dropGeneration(deps, generation, { ...options, timeoutSeconds });
  const text = {
    dropped: `generation ${generation} is dropped`,
    'was-dropped': `generation ${generation} was dropped before`,
    'dry-run': 'dry run: every check passes; nothing was changed',
  }[outcome];
  return output(options, { generation, outcome }, lines([text]));
};
