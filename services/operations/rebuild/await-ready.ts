import { counted } from '../../../shared/runtime/counted.ts';
import { generationOf } from '../../../shared/control/generations.ts';
import { requireRegistry } from '../../../shared/control/registry.ts';
import { pollUntil, reportChanges } from '../poll-until.ts';
import { readLog, type OperatorDeps } from './deps.ts';
import { measure, type Measured } from './measure.ts';
import { rejectsText } from './texts.ts';

type Readiness = {
  outcome: 'ready' | 'stopped' | 'failing' | 'time is up';
  text: string;
  rejects?: Measured['rejects'];
};

/** Waits until a generation follows the log. Ends early if it can never do so. */
export async function awaitReady(
  deps: OperatorDeps,
  number: number,
  { maxLag, timeout }: { maxLag: number; timeout: number },
): Promise<Readiness> {
  const reportChange = reportChanges(deps.report);
  const read = async (): Promise<Readiness> => {
    const registry = await requireRegistry(deps.control);
    const log = await readLog(deps);
    return judge(await measure(deps, registry, generationOf(registry, number), log), maxLag);
  };
  const last = await pollUntil(read, ({ outcome }) => outcome !== 'time is up', {
    everyMs: 2_000,
    timeoutMs: timeout * 1_000,
    onPending: ({ text }) => reportChange(text),
  });
  return last.outcome === 'time is up' ? { ...last, text: `time is up: ${last.text}` } : last;
}

function judge(measured: Measured, maxLag: number): Readiness {
  const { number, state, condition, stopped, rejects, rejectCount } = measured;
  if (stopped?.isFinal)
    return { outcome: 'stopped', text: `generation ${number} cannot continue: ${stopped.reason}` };
  if (condition === 'failing')
    return {
      outcome: 'failing',
      text:
        `generation ${number} fails: ${rejectsText(rejectCount)}, because that one has applied such a record: ` +
        `re-drive or purge them; the first is ${rejects[0]?.id} (${rejects[0]?.reason}: ${rejects[0]?.detail})`,
      rejects,
    };
  const isFollowing = ['ready', 'standby', 'active'].includes(state) && !stopped;
  if (isFollowing && (measured.lagSeconds ?? Infinity) <= maxLag) {
    const next = state === 'ready' ? `: compare it with: rebuild compare ${number}` : '';
    return { outcome: 'ready', text: `generation ${number} is ${state}, and follows the log${next}` };
  }
  const reasons = [stopped?.reason ?? recordsLeft(measured), ...measured.waitsFor];
  return { outcome: 'time is up', text: [`generation ${number} is ${condition}`, ...reasons].join('; ') };
}

/** The number of records that a generation has yet to apply, in words. */
export const recordsLeft = ({
  state,
  lag,
  afterLoad,
}: Pick<Measured, 'state' | 'lag' | 'afterLoad'>): string =>
  state === 'building'
    ? `${counted(lag, 'record')} to load, then ${afterLoad} that have come since`
    : `${counted(lag, 'record')} to apply`;
