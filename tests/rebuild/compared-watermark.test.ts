import { readAppliedTo } from '../../services/operations/rebuild/pair-sources.ts';
import type { HoldCause } from '../../shared/control/hold-causes.ts';
import { progressOf, watermarksOf } from '../../shared/control/progress.ts';
import { openDatabases } from '../support/databases.ts';
import { useOpened } from '../support/use-opened.ts';

const opened = useOpened(openDatabases);

test('a comparison does not wait for a partition that only an open transaction delays', async () => {
  const { control } = opened;
  const at = (second: number) => new Date(second * 1_000);
  const progress = (topic: string, completeTo: Date, cause: HoldCause) => ({
    _id: `1/${topic}/0`,
    generation: 1,
    topic,
    partition: 0,
    applied: { position: 0 },
    end: 2,
    completeTo,
    updatedAt: at(60),
    saved: { cause, waitingSince: null, processId: 'p' },
  });
  await progressOf(control).insertMany([
    progress('tickets', at(10), 'open_transaction'),
    progress('tags', at(30), 'backlog'),
  ]);
  await watermarksOf(control).insertOne({ _id: 1, completeTo: at(10) });
  const watermark = () => readAppliedTo(control, 1);
  expect(await watermark()).toEqual(at(30));
  await progressOf(control).updateOne({ topic: 'tags' }, { $set: { completeTo: at(70) } });
  expect(await watermark()).toEqual(at(60));
});
