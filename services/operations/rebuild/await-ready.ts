import { generationOf } from '../../../shared/control/generations.ts';
import { requireRegistry } from '../../../shared/control/registry.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import { commandsIn } from '../deployment.ts';
import type { OperatorDeps } from '../deps.ts';
import { type Facts, readFactsToAct } from '../facts.ts';
import { blockingFindings, type Finding, findings } from '../findings.ts';
import { pollUntil, reportChanges } from '../poll-until.ts';

/** Waits until a generation is ready. Ends early if it can never become ready. */
export async function awaitReady(deps: OperatorDeps, number: number, timeoutSeconds: number) {
  const reportChange = reportChanges(deps.report);
  let before: Facts | null = null;
  const read = async () => {
    generationOf(await requireRegistry(deps.control), number);
    before = await readFactsToAct(deps, before);
    const blocked = blockingFindings(findings(before), number, 'ready');
    const final = blocked.find(({ isFinal }) => isFinal);
    const stuck = final && (final.name === 'rejects' ? 'failing' : 'stopped');
    const outcome = blocked.length === 0 ? 'ready' : (stuck ?? 'time is up');
    /** The `findings` block readiness. */
    return { outcome, findings: blocked, text: readinessText(before, number, blocked) } as const;
  };
  const last = await pollUntil(read, ({ outcome }) => outcome !== 'time is up', {
    everyMs: 2_000,
    timeoutMs: timeoutSeconds * 1_000,
    onPending: ({ text }) => reportChange(text),
  });
  return last.outcome === 'time is up' ? { ...last, text: `time is up: ${last.text}` } : last;
}

function readinessText({ deployment, generations }: Facts, number: number, blocked: Finding[]): string {
  const [first] = blocked;
  const { cli } = commandsIn[deployment];
  if (first) {
    const more =
      blocked.length > 1 ? `; ${counted(blocked.length - 1, 'further finding')}: ${cli} rebuild status` : '';
    // A build in progress needs time, not a command.
    const fix = first.name === 'state' || first.fix === null ? '' : `: ${first.fix}`;
    return `generation ${number}: ${first.text}${fix}${more}`;
  }
  const state = generations.find((one) => one.generation.number === number)?.generation.state ?? 'ready';
  const next = state === 'ready' ? `: compare it with: ${cli} rebuild compare ${number}` : '';
  return `generation ${number} is ${state}, and follows the log${next}`;
}
