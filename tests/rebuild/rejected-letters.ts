import { readLedgerRecords } from '../../shared/control/ledger-store.ts';
import { storeDeadLetter } from '../support/dead-letters.ts';
import { created } from '../support/entities.ts';
import type { Event } from '../support/events.ts';
import { present, type useRebuild } from './fixture.ts';

type Databases = Pick<ReturnType<typeof useRebuild>, 'control' | 'config'>;

/** Stores a valid event, as if a former release had rejected it on these generations. Its id ends with its offset. */
export async function storeRejected(
  databases: Databases,
  event: Event,
  generations: number[],
): Promise<string> {
  const offset = Number(event.id.split('_')[1]);
  let letterId = '';
  for (const generation of generations) {
    letterId = await storeDeadLetter(databases, event, { offset, now: present, generation });
  }
  return letterId;
}

/** Stores a valid tag in the same way. */
export const storeRejectedTag = (databases: Databases, id: string, generations: number[]): Promise<string> =>
  storeRejected(databases, created('tag', id), generations);

/** The generations that lack the effect of the record; undefined if the dead letter no longer stands. */
export async function readGenerationsLacking(
  { control }: Pick<Databases, 'control'>,
  id: string,
): Promise<number[] | undefined> {
  const records = await readLedgerRecords(control, [id]);
  return records.get(id)?.generations;
}
