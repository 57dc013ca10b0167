import type { Generation } from '../../../shared/store/generations.ts';
import { silentAfterSeconds } from '../../projector/generations/freshness.ts';
import type { Failure } from '../../projector/generations/last-failure.ts';

/** What to do about a generation that can never be trusted or continued again. */
export const another = ({ number, state }: Pick<Generation, 'number' | 'state'>): string =>
  state === 'active'
    ? 'build another: rebuild start (docs/rebuilding.md, After a gap)'
    : `rebuild drop ${number}, and start another`;

/** `isFinal`: waiting, and starting a projector, are in vain. */
export type Stopped = { reason: string; isFinal: boolean };

/** Why no projector follows a generation any more; null while one does, and before the first one has run. */
export function whyStopped(
  generation: Generation,
  {
    recreated,
    failure,
    savedAt,
    now,
  }: { recreated: string[]; failure: Failure | null; savedAt: Date | null; now: Date },
): Stopped | null {
  const restart = `GENERATION=${generation.number} npm run projector`;
  if (generation.state === 'dropping') return null;
  if (recreated.length > 0)
    return {
      reason:
        `${recreated.join(', ')}: deleted and created again since its records were applied, so that no projector can ` +
        `continue: ${another(generation)}`,
      isFinal: true,
    };
  const isSilent = savedAt !== null && now.getTime() - savedAt.getTime() > silentAfterSeconds * 1_000;
  // A projector that ends saves its progress once more.
  const isLast = failure && failure.at.getTime() + silentAfterSeconds * 1_000 > (savedAt?.getTime() ?? 0);
  if (isLast && (failure.isFinal || isSilent)) {
    const { at, reason, isFinal } = failure;
    const advice = isFinal ? another(generation) : restart;
    return { reason: `its projectors ended at ${at.toISOString()}: ${reason}: ${advice}`, isFinal };
  }
  if (!isSilent) return null;
  return { reason: `no projector has run since ${savedAt.toISOString()}: ${restart}`, isFinal: false };
}
