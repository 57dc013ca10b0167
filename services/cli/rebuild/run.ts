import { rename, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { generationDatabase } from '../../../shared/store/connection.ts';
import { generationOf, NoSuchGeneration, requireVersion } from '../../../shared/store/generations.ts';
import { betweenGenerations, withFreshJoins } from '../../operations/rebuild/pair-sources.ts';
import { expectationText } from '../../operations/rebuild/differences.ts';
import { dropGeneration, readersOf, readersText } from '../../operations/rebuild/drop.ts';
import {
  logOffsets,
  measure,
  measureAll,
  readLog,
  type Measured,
  type OperatorDeps,
} from '../../operations/rebuild/measure.ts';
import {
  RebuildRefused,
  changeRegistry,
  requireRegistry,
  configure,
} from '../../projector/generations/registry.ts';
import { startRebuild } from '../../operations/rebuild/start.ts';
import { switchTo, type Switched } from '../../operations/rebuild/switch.ts';
import { compareDocuments, type ComparisonResult } from '../../operations/rebuild/compare.ts';
import { asJson, asJsonLine, type CommandOutput } from '../output.ts';
import type { RebuildCommand } from './command.ts';
import {
  recordsLeft,
  renderHistory,
  renderMetrics,
  renderStarted,
  renderStatus,
  renderSwitched,
  renderComparison,
  comparisonText,
  withRates,
} from './render.ts';

type Of<V extends RebuildCommand['verb']> = Extract<RebuildCommand, { verb: V }>;

/** Runs a `rebuild` verb, or `verify`. A refusal is one message and exit code 1. */
export async function runRebuild(deps: OperatorDeps, command: RebuildCommand): Promise<CommandOutput> {
  try {
    return await dispatch(deps, command);
  } catch (error) {
    if (!(error instanceof RebuildRefused) && !(error instanceof NoSuchGeneration)) throw error;
    const text = command.json
      ? asJson({ refused: error.message })
      : `${command.verb} refused: ${error.message}\n`;
    return { text, exitCode: 1 };
  }
}

async function dispatch(deps: OperatorDeps, command: RebuildCommand): Promise<CommandOutput> {
  switch (command.verb) {
    case 'rebuild start': {
      const started = await startRebuild(deps, command);
      const { number: generation, checks } = started;
      return done(command, { generation, checks }, renderStarted(started));
    }
    case 'rebuild status':
      return status(deps, command);
    case 'rebuild history': {
      const { history } = await requireRegistry(deps.control);
      return done(command, history, renderHistory(history));
    }
    case 'rebuild await':
      return awaitReady(deps, command);
    case 'rebuild pace':
      return setPace(deps, command);
    case 'rebuild compare':
      return compare(deps, command);
    case 'rebuild promote':
    case 'rebuild rollback':
      return switchGeneration(deps, command);
    case 'rebuild drop':
      return drop(deps, command);
    case 'verify':
      return verifyOne(deps, command);
  }
}

const done = (
  { json }: RebuildCommand,
  value: unknown,
  text: string,
  exitCode: CommandOutput['exitCode'] = 0,
): CommandOutput => ({ text: json ? asJson(value) : text, exitCode });

async function setPace(deps: OperatorDeps, command: Of<'rebuild pace'>): Promise<CommandOutput> {
  const { generation: number, pace } = command;
  const outcome = pace === undefined ? 'at full pace' : `at ${pace} records a second`;
  const cause = { by: deps.by, at: await deps.now(), why: outcome };
  const changed = await changeRegistry(deps.control, configure(number, { pace }, cause));
  const warning =
    pace === undefined || changed.generation !== number
      ? null
      : `it is active: Data-As-Of lags, or with pace 0 stands still, until you run: rebuild pace ${number} none`;
  const text = `generation ${number} is ${outcome}\n${warning ? `warning: ${warning}\n` : ''}`;
  return done(command, { generation: number, outcome, ...(warning && { warning }) }, text);
}

const statusPauseMs = 2_000;

/** Two measurements, since a rate needs both. */
async function status(deps: OperatorDeps, command: Of<'rebuild status'>): Promise<CommandOutput> {
  let before = await measured(deps);
  for (;;) {
    await sleep(statusPauseMs);
    const present = await measured(deps);
    const rated = withRates(before.generations, present.generations, statusPauseMs / 1_000);
    const status = { ...present, generations: rated };
    const text = renderStatus(rated);
    if (!command.watch) return done(command, status, text);
    process.stdout.write(
      command.json ? asJsonLine(status) : `${(await deps.now()).toISOString()}\n${text}\n`,
    );
    before = present;
  }
}

async function measured(deps: OperatorDeps): Promise<{ active: number; generations: Measured[] }> {
  const registry = await requireRegistry(deps.control);
  const generations = await measureAll(deps, registry);
  return { active: registry.generation, generations };
}

async function awaitReady(deps: OperatorDeps, command: Of<'rebuild await'>): Promise<CommandOutput> {
  const { generation: number } = command;
  const deadline = performance.now() + command.timeout * 1_000;
  let said = '';
  for (;;) {
    const registry = await requireRegistry(deps.control);
    const one = await measure(deps, registry, generationOf(registry, number), await readLog(deps));
    const failed = inVain(one);
    if (failed) return done(command, { generation: number, ...failed }, `${failed.text}\n`, 3);
    const isBehind = (one.behindSeconds ?? Infinity) > command.maxBehind;
    if (['ready', 'standby', 'active'].includes(one.state) && !isBehind && !one.stopped) {
      const next = one.state === 'ready' ? `: compare it with: rebuild compare ${number}` : '';
      const text = `generation ${number} is ${one.state}, and follows the log${next}\n`;
      return done(command, { generation: number, outcome: 'ready' }, text);
    }
    const reasons = [one.stopped?.reason ?? recordsLeft(one), ...one.waitsFor];
    const line = [`generation ${number} is ${one.condition}`, ...reasons].join('; ');
    if (line !== said) deps.report(line);
    said = line;
    if (performance.now() > deadline)
      return done(command, { generation: number, outcome: 'time is up' }, `time is up: ${line}\n`, 1);
    await sleep(Math.min(2_000, Math.max(0, deadline - performance.now()) + 1));
  }
}

/** Why waiting for a generation cannot help; null while it may become ready. */
function inVain({ number, condition, stopped, rejects, rejectCount }: Measured) {
  if (stopped?.isFinal)
    return { outcome: 'stopped', text: `generation ${number} cannot continue: ${stopped.reason}` };
  if (condition !== 'failing') return null;
  const [first] = rejects;
  const text =
    `generation ${number} fails: ${rejectCount} records are dead letters that the active generation does not have: it ` +
    `applied them, or an operator purged them; the first is ${first?.id} (${first?.reason}: ${first?.detail})`;
  return { outcome: 'failing', text, rejects };
}

const sideOf = ({ mongo, config }: OperatorDeps, number: number) => ({
  ...{ number, database: generationDatabase(mongo, config.DATABASE_NAME, number) },
});

async function compare(deps: OperatorDeps, command: Of<'rebuild compare'>): Promise<CommandOutput> {
  const { control, now, by } = deps;
  const registry = await requireRegistry(control);
  const target = generationOf(registry, command.generation);
  const active = generationOf(registry, registry.generation);
  if (target.state === 'building')
    throw new RebuildRefused(
      `generation ${target.number} is still loading: wait with: rebuild await ${target.number}`,
    );
  if (target.number === active.number)
    throw new RebuildRefused(
      `generation ${target.number} is the active one: compare it with its own entities with: verify`,
    );
  const comparison = betweenGenerations(deps, sideOf(deps, active.number), sideOf(deps, target.number));
  const result = await compareDocuments(comparison, { ...deps, ...command });
  const { compared, differing, differences, expected } = result;
  const { expectations } = command;
  const report = {
    ...{ at: await now(), by, against: active.number },
    ...{ compared, differing, differences, expected, expectations },
    versions: { generation: target.projectionVersion, against: active.projectionVersion },
    lows: [...(await logOffsets(deps))].map(([partition, { low }]) => ({ partition, low })),
  };
  const why = [
    'compared with generation',
    `${active.number}:`,
    comparisonText(result),
    ...expectations.map(expectationText),
  ].join(' ');
  await changeRegistry(control, configure(target.number, { report }, { by, at: report.at, why }));
  return resultOutput(command, target.number, result);
}

/** Compares one generation with a fresh join of its own entities. Refuses one of another release, which joins differently. */
async function verifyOne(deps: OperatorDeps, command: Of<'verify'>): Promise<CommandOutput> {
  const registry = await requireRegistry(deps.control);
  const target = generationOf(registry, command.generation ?? registry.generation);
  requireVersion(target);
  const comparison = withFreshJoins(deps, sideOf(deps, target.number));
  const result = await compareDocuments(comparison, { ...deps, expectations: [] });
  if (command.metrics !== undefined)
    await replaceFile(command.metrics, renderMetrics(target.number, result, await deps.now()));
  return resultOutput(command, target.number, result);
}

/** Replaces a file as a whole, so that no reader finds a part of it. */
async function replaceFile(path: string, text: string): Promise<void> {
  const next = `${path}.${process.pid}`;
  await writeFile(next, text);
  await rename(next, path);
}

const resultOutput = (command: RebuildCommand, number: number, result: ComparisonResult) =>
  done(
    command,
    { generation: number, ...result },
    renderComparison(number, result),
    result.differences > 0 ? 1 : 0,
  );

async function drop(deps: OperatorDeps, command: Of<'rebuild drop'>): Promise<CommandOutput> {
  const { generation, dryRun, timeout: timeoutSeconds } = command;
  if (dryRun) {
    const readers = await readersOf(deps, generation);
    const by =
      readers.length > 0 ? `is read by ${readersText(readers, generation)}` : 'is read by no replica';
    const text = `generation ${generation} ${by}\ndry run: nothing was changed\n`;
    return done(command, { generation, outcome: 'dry-run', readers }, text);
  }
  const outcome = await dropGeneration(deps, generation, { ...command, timeoutSeconds });
  const text = `generation ${generation} ${outcome === 'dropped' ? 'is dropped' : 'was dropped before'}\n`;
  return done(command, { generation, outcome }, text);
}

async function switchGeneration(
  deps: OperatorDeps,
  command: Of<'rebuild promote' | 'rebuild rollback'>,
): Promise<CommandOutput> {
  const isPromotion = command.verb === 'rebuild promote';
  const switched: Switched = await switchTo(deps, command.generation, {
    ...{ why: command.why, dryRun: command.dryRun, timeoutSeconds: command.timeout },
    ...{ acceptOlder: command.acceptOlder, needsReport: isPromotion },
    allowRejects: command.verb === 'rebuild rollback' || command.allowRejects,
  });
  const isRefused = switched.checks.some(({ isMet }) => !isMet);
  const exitCode = isRefused || switched.waiting.length > 0 ? 1 : 0;
  const { number: generation, ...rest } = switched;
  return done(command, { generation, ...rest }, renderSwitched(switched), exitCode);
}
