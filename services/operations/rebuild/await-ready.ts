import { generationOf } from '../../../shared/control/generations.ts';
import { requireRegistry } from '../../../shared/control/registry.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import { commandsIn } from '../deployment.ts';
import type { OperatorDeps } from '../deps.ts';
import { type Facts, readFactsToAct } from '../facts.ts';
import { blockingFindings, evaluateRules, type Finding } from '../findings.ts';
import { pollUntil, reportChanges } from '../poll-until.ts';

/** The result of waiting. Only `time is up` may still become `ready`. */
type Readiness = {
  outcome: 'ready' | 'failing' | 'stopped' | 'time is up';
  /** The findings that block readiness. */
  findings: Finding[];
  text: string;
};

/** Waits until a generation is ready. Ends early if it can never become ready. */
export async function awaitReady(
  deps: OperatorDeps,
  number: number,
  timeoutSeconds: number,
): Promise<Readiness> {
  const reportChange = reportChanges(deps.report);
  let facts: Facts | null = null;
  const read = async (): Promise<Readiness> => {
    // Throws if the generation does not exist.
    generationOf(await requireRegistry(deps.control), number);
    facts = await readFactsToAct(deps, facts);
    const blocking = blockingFindings(evaluateRules(facts), number, 'ready');
    return { outcome: outcomeOf(blocking), findings: blocking, text: readinessText(facts, number, blocking) };
  };
  const last = await pollUntil(read, ({ outcome }) => outcome !== 'time is up', {
    everyMs: 2_000,
    timeoutMs: timeoutSeconds * 1_000,
    onPending: ({ text }) => reportChange(text),
  });
  return last.outcome === 'time is up' ? { ...last, text: `time is up: ${last.text}` } : last;
}

/** The outcome if the wait ended now. If a finding is final, waiting cannot help. */
function outcomeOf(blocking: Finding[]): Readiness['outcome'] {
  if (blocking.length === 0) return 'ready';
  const final = blocking.find(({ isFinal }) => isFinal);
  if (!final) return 'time is up';
  return final.name === 'rejects' ? 'failing' : 'stopped';
}

function readinessText({ deployment, generations }: Facts, number: number, blocking: Finding[]): string {
  const [first] = blocking;
  const { cli } = commandsIn[deployment];
  if (first) {
    const otherCount = blocking.length - 1;
    const more = otherCount > 0 ? `; ${counted(otherCount, 'further finding')}: ${cli} rebuild status` : '';
    // A build in progress needs time, not a command.
    const fix = first.name === 'state' || first.fix === null ? '' : `: ${first.fix}`;
    return `generation ${number}: ${first.text}${fix}${more}`;
  }
  const state =
    generations.find(({ generation }) => generation.number === number)?.generation.state ?? 'ready';
  const next = state === 'ready' ? `: compare it with: ${cli} rebuild compare ${number}` : '';
  return `generation ${number} is ${state}, and follows the log${next}`;
}
