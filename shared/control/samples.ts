import type { Collection, Db } from 'mongodb';
import type { Logger } from '../runtime/logger.ts';
import { lagSeconds, progressOf } from './progress.ts';

/** The lag and the progress of a generation at one moment. The console draws the samples of the last hour. */
export type Sample = {
  /** `<generation>/<slot>`. An hour has 180 slots, so a sample replaces the sample of an hour before. */
  _id: string;
  generation: number;
  at: Date;
  /** The lag of the watermark; null before there is one. */
  lagSeconds: number | null;
  /** The number of records that were applied until then, in all partitions. */
  applied: number;
};

/** The projectors of a generation save one sample in each interval of this length, in milliseconds. */
export const sampleEveryMs = 20_000;
const hourMs = 3_600_000;
const slots = hourMs / sampleEveryMs;

export const samplesOf = (control: Db): Collection<Sample> => control.collection('samples');

/** The samples of the last hour of all generations, the earliest first. */
export const readSamples = (control: Db, now: Date): Promise<Sample[]> =>
  samplesOf(control)
    .find({ at: { $gt: new Date(now.getTime() - hourMs) } })
    .sort({ at: 1 })
    .toArray();

type SamplerDeps = { control: Db; generation: number; allowanceMs: number; logger: Logger };

/**
 * Creates the function that saves one sample in each interval. If several projectors save one, the last replaces the
 * others. The function never rejects, because a missing sample is only a gap in a chart and must not fail a run of the
 * commit loop.
 */
export function createSampler({ control, generation, allowanceMs, logger }: SamplerDeps) {
  let savedInterval: number | null = null;
  const save = async (interval: number, at: Date, watermark: Date) => {
    const sum = { $group: { _id: null, applied: { $sum: '$applied.position' } } };
    const pipeline = [{ $match: { generation } }, sum];
    const [found] = await progressOf(control).aggregate<{ applied: number }>(pipeline).toArray();
    const sample = {
      generation,
      at,
      lagSeconds: watermark.getTime() > 0 ? lagSeconds(watermark, at, allowanceMs) : null,
      applied: found?.applied ?? 0,
    };
    const _id = `${generation}/${interval % slots}`;
    // Replaces the whole sample. Otherwise a field of another release could stay beside it.
    await samplesOf(control).replaceOne({ _id }, sample, { upsert: true });
    savedInterval = interval;
  };
  return async (at: Date, watermark: Date): Promise<void> => {
    const interval = Math.floor(at.getTime() / sampleEveryMs);
    if (interval === savedInterval) return;
    try {
      await save(interval, at, watermark);
    } catch (error) {
      logger.warn({ error }, 'could not save a sample for the console');
    }
  };
}
