import { setTimeout as sleep } from 'node:timers/promises';
import { watermark } from '../../../shared/store/progress.ts';
import {
  generationOf,
  type Generation,
  type GenerationRegistry,
  type ComparisonReport,
} from '../../../shared/store/generations.ts';
import { liveReplicas } from '../../../shared/store/replicas.ts';
import { dayMs } from '../../../shared/documents/retention.ts';
import { recordedPositions } from '../../projector/consumer/progress.ts';
import { expectationText } from './differences.ts';
import { readyWithinSeconds } from '../../projector/generations/follow.ts';
import {
  measure,
  readLog,
  type LogOffsets,
  type MeasuredLog,
  type Measured,
  type OperatorDeps,
} from './measure.ts';
import { another } from './stopped.ts';
import { tombstoneWarning } from '../../projector/generations/tombstones.ts';

/**
 * One condition of a promotion. `detail` says what was found; where it is not met, also what to do. `isAccepted`: it does
 * not hold, but an option of the operator accepts that, so it counts as met.
 */
export type Check = { name: string; isMet: boolean; isAccepted?: true; detail: string };

export type SwitchOptions = {
  /** Serve it although it is behind what was served. */
  acceptOlder: boolean;
  /** Serve it although it rejects records that the active generation has applied. */
  allowRejects: boolean;
  /** Whether a comparison is required. Going back in an emergency does not wait for one. */
  needsReport: boolean;
};

/** How often, and how long apart, a generation is looked at while it catches up, in milliseconds. */
const catchUpAttempts = 20;
const catchUpPauseMs = 500;
/** A report is valid for this long: both sides move, and so does the code of operators. */
const reportValidMs = dayMs;

/** Everything that must hold before a generation is served. */
export async function checkSwitch(
  deps: OperatorDeps,
  registry: GenerationRegistry,
  number: number,
  options: SwitchOptions,
): Promise<Check[]> {
  const target = generationOf(registry, number);
  const served = await recordedPositions(deps.control, registry.generation);
  const behind = await partitionsBehind(deps, served, number, options.acceptOlder ? 1 : catchUpAttempts);
  const servedTo = await watermark(deps.control, registry.generation);
  // Measured last: both sides go on, and a watermark from before the wait would look too old.
  const log = await readLog(deps);
  const measured = await measure(deps, registry, target, log);
  return [
    checkState(target),
    checkProjectors(measured),
    ...checkProgress(measured, { behind, servedTo }, options),
    checkTombstones(target, measured, log, await deps.now()),
    await checkReplicas(deps, target),
    ...(options.needsReport ? [checkReport(await deps.now(), registry, target, log.ends)] : []),
  ];
}

function checkState({ number, state }: Generation): Check {
  const isMet = state === 'ready' || state === 'standby' || state === 'active';
  const detail = isMet ? state : `generation ${number} is ${state}: wait with: rebuild await ${number}`;
  return { name: 'state', isMet, detail };
}

/** A generation that nothing follows would be served as it is for good. Nothing overrides this. */
function checkProjectors({ stopped, savedAt, number }: Measured): Check {
  const never = savedAt ? null : `no projector has run on it: GENERATION=${number} npm run projector`;
  const problem = stopped?.reason ?? never;
  return {
    name: 'projectors',
    isMet: problem === null,
    detail: problem ?? `a projector saved progress at ${savedAt?.toISOString()}`,
  };
}

type PartitionBehind = { key: string; position: number; served: number };

function checkProgress(
  measured: Measured,
  { behind, servedTo }: { behind: PartitionBehind[]; servedTo: Date | null },
  { acceptOlder, allowRejects }: SwitchOptions,
): Check[] {
  const { number, stopped } = measured;
  const [first] = behind;
  const [reject] = measured.rejects;
  const wait = stopped
    ? 'see the check projectors'
    : `wait with: rebuild await ${number}, or accept it with --accept-older (keys archived since then work again)`;
  return [
    {
      name: 'offsets',
      ...acceptable(behind.length === 0, acceptOlder, wait, {
        good: 'it has applied every record that the active generation has applied',
        bad:
          `${first?.key} is applied up to ${first?.position}, but in the active generation up to ${first?.served} ` +
          `(${behind.length} partitions lag)`,
      }),
    },
    checkFreshness(measured.watermark, servedTo, acceptOlder, wait),
    {
      name: 'rejects',
      ...acceptable(
        measured.rejectCount === 0,
        allowRejects,
        'mend and re-drive them, purge those that were purged before the build, or accept it with --allow-rejects',
        {
          good: 'no dead letter that the active generation does not have',
          bad:
            `${measured.rejectCount} records are dead letters here only, the first is ${reject?.id} ` +
            `(${reject?.reason}: ${reject?.detail})`,
        },
      ),
    },
  ];
}

function checkFreshness(own: Date | null, served: Date | null, acceptOlder: boolean, advice: string): Check {
  const staleMs = (served?.getTime() ?? 0) - (own?.getTime() ?? 0);
  const behind = `its watermark ${own?.toISOString()} is ${Math.round(staleMs / 1_000)} s behind that of the active generation`;
  return {
    name: 'freshness',
    ...acceptable(staleMs <= readyWithinSeconds * 1_000, acceptOlder, advice, {
      good: `watermark ${own?.toISOString() ?? 'none'}`,
      bad:
        own && own.getTime() > 0 ? behind : 'it has no watermark yet: partitions of it have applied nothing',
    }),
  };
}

/** A condition that an option accepts where it does not hold. */
function acceptable(
  holds: boolean,
  isAccepted: boolean,
  advice: string,
  { good, bad }: { good: string; bad: string },
): Omit<Check, 'name'> {
  if (holds) return { isMet: true, detail: good };
  return isAccepted
    ? { isMet: true, isAccepted: true, detail: bad }
    : { isMet: false, detail: `${bad}: ${advice}` };
}

/**
 * The partitions in which a generation has not applied what another had at the start. Both follow live and save their
 * positions once a second, so it is given some seconds to reach them.
 */
async function partitionsBehind(
  { control }: OperatorDeps,
  served: Map<string, number>,
  number: number,
  attempts: number,
): Promise<PartitionBehind[]> {
  for (let attempt = 1; ; attempt += 1) {
    const applied = await recordedPositions(control, number);
    const behind = [...served].flatMap(([key, end]) => {
      const position = applied.get(key) ?? 0;
      return position < end ? [{ key, position, served: end }] : [];
    });
    if (behind.length === 0 || attempt >= attempts) return behind;
    await sleep(catchUpPauseMs);
  }
}

/**
 * Kafka forgets tombstones after `delete.retention.ms`. A generation with a longer lag may have missed the deletion of an
 * entity whose earlier record it had applied. Nothing overrides this.
 */
function checkTombstones(target: Generation, measured: Measured, log: MeasuredLog, now: Date): Check {
  const warning = tombstoneWarning(target, measured.watermark, log.tombstones, now);
  return {
    name: 'tombstones',
    isMet: warning === null,
    detail: warning
      ? `${warning}: ${another(target)}`
      : 'its lag was never longer than Kafka keeps tombstones',
  };
}

async function checkReplicas(deps: OperatorDeps, target: Generation): Promise<Check> {
  const replicas = await liveReplicas(deps.control, await deps.now());
  const unable = replicas.filter(({ versions }) => !versions.includes(target.projectionVersion));
  const [first] = unable;
  return {
    name: 'replicas',
    isMet: unable.length === 0,
    detail: first
      ? `${unable.length} of ${replicas.length} API replicas cannot serve projection version ` +
        `${target.projectionVersion}, among them process ${first.pid} on ${first.host}: deploy the API's new release first`
      : `every live API replica can serve projection version ${target.projectionVersion} (${replicas.length} live)`,
  };
}

function checkReport(
  now: Date,
  registry: GenerationRegistry,
  { number, projectionVersion, report }: Generation,
  offsets: LogOffsets,
): Check {
  const again = `run: rebuild compare ${number}`;
  const failed = (problem: string): Check => ({ name: 'compared', isMet: false, detail: problem + again });
  if (!report) return failed(`generation ${number} was not compared with the active one: `);
  const expiry = expiryOf(now, registry, projectionVersion, report, offsets);
  if (expiry) return failed(`the comparison no longer counts, as ${expiry}: `);
  const { differences, differing, compared, expected, at, by } = report;
  const waived = report.expectations.map(expectationText).join(', ');
  const intended = expected > 0 ? `, ${expected} intended differences waived by ${by} (${waived})` : '';
  if (differences > 0)
    return failed(
      `${differing} of ${compared} documents differ${intended}: mend the projection, or name the intended differences ` +
        'with --expect, and ',
    );
  const detail = `${compared} compared at ${at.toISOString()}: 0 unintended differences${intended}`;
  return { name: 'compared', isMet: true, ...(expected > 0 && { isAccepted: true as const }), detail };
}

function expiryOf(
  now: Date,
  registry: GenerationRegistry,
  projectionVersion: number,
  report: ComparisonReport,
  offsets: LogOffsets,
): string | null {
  const active = generationOf(registry, registry.generation);
  if (report.against !== active.number)
    return `it compared with generation ${report.against}, and ${active.number} is active now`;
  if (
    report.versions.generation !== projectionVersion ||
    report.versions.against !== active.projectionVersion
  )
    return 'a projection version has changed since';
  const moved = report.lows.find(({ partition, low }) => (offsets.get(partition)?.low ?? low) !== low);
  if (moved) return `the log of ${moved.partition} begins elsewhere now`;
  if (!('expectations' in report)) return 'an earlier release has made it';
  if (now.getTime() - report.at.getTime() > reportValidMs) return 'it is older than a day';
  return null;
}
