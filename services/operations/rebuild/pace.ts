import { counted } from '../../../shared/runtime/counted.ts';
import { changeRegistry } from '../../../shared/control/registry.ts';
import type { OperatorDeps } from './deps.ts';
import { configure } from './transitions.ts';

/** Sets the maximum number of records a second of each projector; undefined removes the limit. */
export async function setPace(deps: OperatorDeps, generation: number, pace: number | undefined) {
  const outcome = pace === undefined ? 'at full pace' : `at ${counted(pace, 'record')} a second`;
  const cause = { by: deps.by, at: await deps.now(), why: outcome };
  const registry = await changeRegistry(deps.control, configure(generation, { pace }, cause));
  const isActiveLimited = pace !== undefined && registry.generation === generation;
  const warning = `it is active: Data-As-Of lags, or with pace 0 stands still, until you run: rebuild pace ${generation} none`;
  return { generation, outcome, ...(isActiveLimited && { warning }) };
}
