import { changeRegistry } from '../../../shared/control/registry.ts';
import type { OperatorDeps } from '../deps.ts';
import { recordNote } from '../rebuild/transitions.ts';

/** Writes to the history of a generation the work of an operator on its documents. */
export async function writeNote(
  { control, by, now }: Pick<OperatorDeps, 'control' | 'by' | 'now'>,
  generation: number,
  why: string,
): Promise<void> {
  await changeRegistry(control, recordNote(generation, { by, at: await now(), why }));
}
