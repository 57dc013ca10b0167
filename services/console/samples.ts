/** The lag of the active generation at one moment; null if it was not known. */
export type Sample = { atMs: number; lagSeconds: number | null };

/** How often the console samples, and for how long it keeps samples: 360 of them at most. */
export const sampleEveryMs = 10_000;
export const keptMs = 3_600_000;

export type Samples = { add: (sample: Sample) => void; all: () => readonly Sample[] };

/** Keeps the samples of the last hour in memory. */
export function createSamples(): Samples {
  let samples: Sample[] = [];
  return {
    add: (sample) => {
      samples = [...samples.filter(({ atMs }) => atMs > sample.atMs - keptMs), sample];
    },
    all: () => samples,
  };
}
