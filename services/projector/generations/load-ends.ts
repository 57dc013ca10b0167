import type { Generation } from '../../../shared/store/generations.ts';
import { partitionKey } from '../kafka/topic-partition.ts';

/** The offset up to which a build loads each partition first, by `<topic>/<partition>`; null once it is loaded. */
export const loadEndsOf = ({ state, loadTo = [] }: Generation): Map<string, number> | null =>
  state === 'building' ? new Map(loadTo.map((one) => [partitionKey(one), one.end])) : null;
