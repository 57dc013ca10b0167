import { dayMs } from '../../../shared/documents/retention.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import {
  generationOf,
  type ComparisonReport,
  type Generation,
  type GenerationRegistry,
} from '../../../shared/control/generations.ts';
import { watermark } from '../../../shared/control/progress.ts';
import { liveReplicas } from '../../../shared/control/replicas.ts';
import { recordedPositions } from '../../projector/consumer/progress.ts';
import { readyWithinSeconds } from '../../projector/generations/follow.ts';
import { tombstoneWarning } from '../../projector/generations/tombstones.ts';
import { commandsIn } from '../deployment.ts';
import { pollUntil } from '../poll-until.ts';
import { readLog, type LogOffsets, type MeasuredLog, type OperatorDeps } from './deps.ts';
import { expectationText } from './differences.ts';
import { measure, type Measured } from './measure.ts';
import { replaceAdvice } from './stopped.ts';
import { neverStarted, rejectsText } from './texts.ts';

/**
 * One condition of a start or a promotion. `detail` states the finding and, if the condition does not hold, a remedy.
 * `isAccepted`: it does not hold, but counts as met, because the operator accepts that by an option.
 */
export type Check = { name: string; isMet: boolean; isAccepted?: true; detail: string };

/** A check that holds unless there is a problem. A `waiver` is an option that accepts the problem. */
export function check(
  name: string,
  good: string,
  problem: string | null,
  waiver?: { isGiven: boolean; advice: string },
): Check {
  if (problem === null) return { name, isMet: true, detail: good };
  if (waiver?.isGiven) return { name, isMet: true, isAccepted: true, detail: problem };
  return { name, isMet: false, detail: waiver ? `${problem}: ${waiver.advice}` : problem };
}

export type SwitchOptions = {
  /** Promote even if the active generation has newer data. */
  acceptOlder: boolean;
  /** A rollback in an emergency needs no comparison, and may have dead letters that the active generation lacks. */
  needsComparison: boolean;
  /** How long a generation may take to reach the active one, in milliseconds; 10 seconds by default. */
  catchUpMs?: number;
};

/** Both generations save their positions once a second, so the build gets this long to reach the active one. */
const catchUpMsDefault = 10_000;
/** A comparison expires after this time, because both generations change, and the release of the CLI may change too. */
const reportValidMs = dayMs;

/** Everything that must hold before a generation is served. */
export async function checkSwitch(
  deps: OperatorDeps,
  registry: GenerationRegistry,
  number: number,
  options: SwitchOptions,
): Promise<Check[]> {
  const target = generationOf(registry, number);
  const active = await recordedPositions(deps.control, registry.generation);
  const { catchUpMs = catchUpMsDefault } = options;
  const lagging = await laggingPartitions(deps, active, number, options.acceptOlder ? 0 : catchUpMs);
  const activeTo = await watermark(deps.control, registry.generation);
  // Measured last: a watermark from before the wait would look too old.
  const log = await readLog(deps);
  const measured = await measure(deps, registry, target, log);
  const now = await deps.now();
  return [
    checkState(target),
    checkProjectors(deps, measured),
    ...checkProgress(measured, { lagging, activeTo }, options),
    checkTombstones(target, measured, log, now),
    await checkReplicas(deps, target, now),
    ...(options.needsComparison ? [checkReport(now, registry, target, log.ends)] : []),
  ];
}

function checkState({ number, state }: Generation): Check {
  const isPromotable = state === 'ready' || state === 'standby';
  const problem = `generation ${number} is ${state}: wait with: rebuild await ${number}`;
  return check('state', state, isPromotable ? null : problem);
}

/** The documents of a generation without projectors would never change again. No option overrides this. */
function checkProjectors({ config }: OperatorDeps, { stopped, savedAt, number }: Measured): Check {
  const never = neverStarted(commandsIn[config.DEPLOYMENT].projector(number));
  const good = `a projector saved progress at ${savedAt?.toISOString()}`;
  return check('projectors', good, stopped?.reason ?? (savedAt ? null : never));
}

type LaggingPartition = { key: string; position: number; active: number };

function checkProgress(
  measured: Measured,
  { lagging, activeTo }: { lagging: LaggingPartition[]; activeTo: Date | null },
  { acceptOlder, needsComparison }: SwitchOptions,
): Check[] {
  const { number, stopped, rejectCount } = measured;
  const [partition] = lagging;
  const [reject] = measured.rejects;
  const older = {
    isGiven: acceptOlder,
    advice: stopped
      ? 'see the check named projectors'
      : `wait with: rebuild await ${number}, or accept it with --accept-older (keys archived since then work again)`,
  };
  return [
    check(
      'offsets',
      'it has applied every record that the active generation has applied',
      partition
        ? `partition ${partition.key}: this generation is at offset ${partition.position}, the active one at ` +
            `${partition.active} (lagging: ${counted(lagging.length, 'partition')})`
        : null,
      older,
    ),
    checkFreshness(measured.watermark, activeTo, older),
    check(
      'rejects',
      'no dead letter that the active generation does not have',
      rejectCount > 0 && needsComparison
        ? `${rejectsText(rejectCount)}; the first is ${reject?.id} (${reject?.reason}: ${reject?.detail}): fix the cause and re-drive them, or purge them`
        : null,
    ),
  ];
}

function checkFreshness(
  own: Date | null,
  active: Date | null,
  waiver: { isGiven: boolean; advice: string },
): Check {
  const staleMs = (active?.getTime() ?? 0) - (own?.getTime() ?? 0);
  const stale = `its watermark ${own?.toISOString()} is ${Math.round(staleMs / 1_000)} s older than that of the active generation`;
  const none = 'it has no watermark yet: its projectors have applied nothing of some partitions';
  const problem = own && own.getTime() > 0 ? stale : none;
  const isFresh = staleMs <= readyWithinSeconds * 1_000;
  return check('freshness', `watermark ${own?.toISOString() ?? 'none'}`, isFresh ? null : problem, waiver);
}

/** The partitions in which a generation has not reached these positions of the active one. */
function laggingPartitions(
  { control }: OperatorDeps,
  active: Map<string, number>,
  number: number,
  timeoutMs: number,
): Promise<LaggingPartition[]> {
  const read = async () => {
    const own = await recordedPositions(control, number);
    return [...active]
      .map(([key, reached]) => ({ key, position: own.get(key) ?? 0, active: reached }))
      .filter((one) => one.position < one.active);
  };
  return pollUntil(read, (lagging) => lagging.length === 0, { everyMs: 500, timeoutMs });
}

/**
 * Kafka deletes tombstones after `delete.retention.ms`. A generation with a longer lag may have missed the deletion of an
 * entity whose earlier record it had applied. No option overrides this.
 */
function checkTombstones(target: Generation, measured: Measured, log: MeasuredLog, now: Date): Check {
  const warning = tombstoneWarning(target, measured.watermark, log.tombstones, now);
  const good = 'its lag was never longer than Kafka keeps tombstones';
  return check('tombstones', good, warning && `${warning}: ${replaceAdvice(target)}`);
}

async function checkReplicas(
  { control }: OperatorDeps,
  { projectionVersion }: Generation,
  now: Date,
): Promise<Check> {
  const replicas = await liveReplicas(control, now);
  const unable = replicas.filter(({ versions }) => !versions.includes(projectionVersion));
  const [first] = unable;
  return check(
    'replicas',
    `every live API replica can serve projection version ${projectionVersion} (${replicas.length} live)`,
    first
      ? `${unable.length} of ${counted(replicas.length, 'API replica')} cannot serve projection version ${projectionVersion}, among ` +
          `them process ${first.pid} on ${first.host}: deploy the API's new release first`
      : null,
  );
}

function checkReport(
  now: Date,
  registry: GenerationRegistry,
  target: Generation,
  offsets: LogOffsets,
): Check {
  const { number, report } = target;
  const failed = (problem: string) => check('compared', '', `${problem}run: rebuild compare ${number}`);
  if (!report) return failed(`generation ${number} was not compared with the active one: `);
  const reason = whyExpired(now, registry, target, report, offsets);
  if (reason) return failed(`the comparison is no longer valid, because ${reason}: `);
  const { differences, differing, compared, expected, at, by } = report;
  const waived = report.expectations.map(expectationText).join(', ');
  const intended =
    expected > 0 ? `, ${counted(expected, 'intended difference')} waived by ${by} (${waived})` : '';
  if (differences > 0)
    return failed(
      `differences in ${differing} of ${counted(compared, 'document')}${intended}: fix the projection, or name the intended differences ` +
        'with --expect, and ',
    );
  const detail = `${compared} compared at ${at.toISOString()}: 0 unintended differences${intended}`;
  return { name: 'compared', isMet: true, ...(expected > 0 && { isAccepted: true as const }), detail };
}

function whyExpired(
  now: Date,
  registry: GenerationRegistry,
  { projectionVersion }: Generation,
  report: ComparisonReport,
  offsets: LogOffsets,
): string | null {
  const { against, versions } = report;
  const active = generationOf(registry, registry.generation);
  if (against !== active.number)
    return `it was made with generation ${against}, and ${active.number} is active now`;
  if (versions.generation !== projectionVersion || versions.against !== active.projectionVersion)
    return 'a projection version has changed since';
  const moved = report.lows.find(({ partition, low }) => (offsets.get(partition)?.low ?? low) !== low);
  if (moved) return `the log of ${moved.partition} now begins at another offset`;
  if (now.getTime() - report.at.getTime() > reportValidMs) return 'it is older than a day';
  return null;
}
