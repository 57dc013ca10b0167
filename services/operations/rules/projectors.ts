import { isBuild } from '../../../shared/control/generations.ts';
import { holdCauses } from '../../../shared/control/hold-causes.ts';
import { describeGaps } from '../../../shared/control/log-gaps.ts';
import {
  isLive,
  lastSweepOf,
  type ProcessState,
  processText,
  type Projector,
} from '../../../shared/control/processes.ts';
import { isSilent } from '../../../shared/control/progress.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import type { Commands } from '../deployment.ts';
import type { Facts } from '../facts.ts';
import type { GenerationFacts } from '../generation-facts.ts';
import type { RuleFinding } from './rule.ts';

/** The command to replace a generation that cannot continue, or that may hold wrong data. */
export function replacement({ registry }: Facts, { generation }: GenerationFacts, { cli }: Commands): string {
  if (generation.state !== 'active') return `${cli} rebuild drop ${generation.number}`;
  const build = registry?.generations.find(isBuild);
  return build ? `${cli} rebuild await ${build.number}` : `${cli} rebuild start`;
}

/** A generation whose documents do not change, because no projector saves its progress. */
type StoppedGeneration = {
  facts: Facts;
  generationFacts: GenerationFacts;
  /** The projector whose state explains this best; null if no projector has announced itself. */
  explaining: Projector | null;
  /** The command that starts a projector. */
  restart: string;
};

/** Reports why no projector follows a generation, with a fix unless projectors still run. */
export function stopFinding(
  facts: Facts,
  generationFacts: GenerationFacts,
  commands: Commands,
): RuleFinding | string | null {
  if (generationFacts.generation.state === 'dropping') return null;
  const final = finalStopFinding(generationFacts);
  if (final) return { fix: replacement(facts, generationFacts, commands), isFinal: true, ...final };
  if (generationFacts.savedAt !== null && !isSilent(generationFacts.savedAt, facts.now)) return null;
  const explaining = explainingProjector(facts, generationFacts);
  const restart = commands.projector(generationFacts.generation.number);
  const reason = stopReasonOf(facts, generationFacts, explaining);
  return describeStop[reason]({ facts, generationFacts, explaining, restart });
}

/** Reports why no projector can ever continue a generation; null if one can. */
function finalStopFinding({ gaps, recreated, savedAt, watermark }: GenerationFacts): RuleFinding | null {
  const [gap] = gaps;
  if (gap)
    return {
      text:
        `no projector can continue since ${gap.at.toISOString()}, because its log has a gap: ${describeGaps(gaps)}; rebuild ` +
        'the read model, or accept the gap (docs/gaps.md)',
      acceptAs: 'gap',
    };
  if (recreated.length > 0)
    return {
      text:
        `${recreated.join(', ')}: deleted and created again since its records were applied, so no projector can continue: ` +
        'restore its records, rebuild the read model, or accept the gap (docs/gaps.md)',
      acceptAs: 'gap',
    };
  if (savedAt === null && (watermark?.getTime() ?? 0) > 0)
    return {
      text: 'its progress is lost, so no projector continues: restore the collection progress from a backup, or rebuild',
    };
  return null;
}

/**
 * The reason why the progress stands still: the state of the explaining projector, or `without-topics` if topics are
 * missing. Without a live projector: `unannounced` if the group still has members, else `gone`.
 */
type StopReason = ProcessState | 'without-topics' | 'unannounced' | 'gone';

const describeStop: Record<StopReason, (stopped: StoppedGeneration) => RuleFinding | string> = {
  // The reason names the fix. A restart would be refused again.
  starting: (stopped) =>
    stopped.explaining?.reason
      ? `a projector cannot start: ${processesText(stopped)}: ${stopped.explaining.reason}`
      : `a projector is starting: ${processesText(stopped)}`,
  refused: (stopped) =>
    `a projector cannot start: ${processesText(stopped)}: ${stopped.explaining?.reason ?? 'see its log'}`,
  cut_off: (stopped) =>
    `its projectors run, but are cut off from Kafka${sinceText(stopped.generationFacts)}: ${processesText(stopped)}: ` +
    (stopped.explaining?.reason ?? 'no answer'),
  running: ({ generationFacts }) => savesNothing(generationFacts),
  unannounced: ({ generationFacts }) => savesNothing(generationFacts),
  'without-topics': ({ generationFacts }) =>
    `no progress has been saved${sinceText(generationFacts)}, because topics are missing`,
  ended: ({ explaining, restart }) => ({
    text: `its projectors ended at ${explaining?.at.toISOString() ?? ''}: ${explaining?.reason ?? ''}`,
    fix: restart,
  }),
  gone: ({ facts, generationFacts, restart }) => ({
    text: generationFacts.savedAt
      ? `no projector has run${sinceText(generationFacts)}`
      : 'no projector has run on it yet',
    // Without a majority no projector can announce itself.
    fix: facts.noMajoritySince === null ? restart : null,
  }),
};

/**
 * The refusal of a start is reported for this long, in milliseconds, because a supervisor may wait for minutes before
 * the next start.
 */
const refusalShownForMs = 600_000;

function stopReasonOf(
  { kafka, now }: Facts,
  generationFacts: GenerationFacts,
  explaining: Projector | null,
): StopReason {
  const hasRun = generationFacts.savedAt !== null;
  if (explaining && explainsItself(explaining, now)) return explaining.state;
  // Without a topic Kafka cannot be read, and another rule reports the missing topics.
  if (hasRun && kafka.missing.length > 0 && kafka.otherPrefixes.length === 0) return 'without-topics';
  if (explaining && isLive(explaining, now)) return explaining.state;
  const members = kafka.members.get(generationFacts.generation.number) ?? [];
  return hasRun && members.length > 0 ? 'unannounced' : 'gone';
}

/** Whether the state of a projector is the reason, even if topics are missing. */
function explainsItself({ state, at, reason }: Projector, now: Date): boolean {
  switch (state) {
    case 'starting':
      return true;
    case 'refused':
      return now.getTime() - at.getTime() <= refusalShownForMs;
    case 'ended':
      return reason !== null;
    case 'running':
    case 'cut_off':
      return false;
  }
}

/** The states of a live projector, the one that explains most first. */
const liveStates: readonly ProcessState[] = ['cut_off', 'starting', 'running'];

/**
 * The projector whose state explains why the progress stands still: a live projector, else the last one that ended. The
 * end of a projector explains nothing if another one has saved progress after it.
 */
function explainingProjector({ now }: Facts, generationFacts: GenerationFacts): Projector | null {
  const live = generationFacts.projectors.filter((projector) => isLive(projector, now));
  const [best] = live.toSorted((a, b) => liveStates.indexOf(a.state) - liveStates.indexOf(b.state));
  if (best) return best;
  const ended = generationFacts.projectors.find(({ state }) => !liveStates.includes(state));
  if (!ended) return null;
  const isSavedLater =
    generationFacts.savedAt !== null &&
    generationFacts.savedAt > ended.at &&
    generationFacts.savedBy !== ended._id;
  return isSavedLater ? null : ended;
}

/** `process 12 on host-1 (and 2 others)`: the explaining projector, and the number of other live ones. */
function processesText({ facts, generationFacts, explaining }: StoppedGeneration): string {
  if (!explaining) return 'a process that is not known';
  const others = generationFacts.projectors.filter(
    (projector) => projector !== explaining && isLive(projector, facts.now),
  );
  const more = others.length === 0 ? '' : ` (and ${counted(others.length, 'other')})`;
  return `${processText(explaining)}${more}`;
}

const sinceText = ({ savedAt }: GenerationFacts): string =>
  savedAt ? ` since ${savedAt.toISOString()}` : '';

function savesNothing(generationFacts: GenerationFacts): string {
  const cause = generationFacts.partitions.find((partition) => partition.cause !== null)?.cause ?? null;
  const known = cause === null ? '' : ` (the last known cause: ${holdCauses[cause]})`;
  return `its projectors run, but have saved no progress${sinceText(generationFacts) || ' yet'}${known}: see their logs`;
}

/** Sweeps that fail for longer than this are reported, in milliseconds. The next sweep begins within five minutes. */
const sweepFailureToleratedMs = 600_000;

/** The reason why the retention of a generation is not enforced; null if it is. */
export function sweepFailure(projectors: Projector[]): string | null {
  const { at, failingSince: since, reason } = lastSweepOf(projectors) ?? {};
  // The failures end with the last sweep, not now: while no projector runs, no sweep fails.
  if (!at || !since || at.getTime() - since.getTime() <= sweepFailureToleratedMs) return null;
  return (
    `data past its retention stays in MongoDB, because every sweep since ${since.toISOString()} has failed: ` +
    `${reason} (docs/runbooks/sweep-failing.md)`
  );
}
