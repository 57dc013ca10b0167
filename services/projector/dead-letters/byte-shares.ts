/** The share of each topic in the bytes of dead letters, and its use. */
export type ByteShares = {
  /** How many bytes a topic may still store; 0 or less if its share is full. */
  left: (topic: string) => Promise<number>;
  /** Adds the bytes that this process has stored for a topic. */
  add: (topic: string, bytes: number) => void;
  /** The part of its share that the fullest topic takes. */
  filled: () => Promise<number>;
};

/** Each topic has the same share of a bound in megabytes, so that a flood on one topic leaves space for the others. */
export const shareOf = (megabytesMax: number, topics: string[]): number =>
  Math.floor((megabytesMax * 1024 * 1024) / topics.length);

/** The part of its share that the topic with the most bytes takes. */
export const filledPart = (sizes: Map<string, number>, shareBytes: number): number =>
  Math.max(0, ...sizes.values()) / shareBytes;

/** How long a measurement is used, in milliseconds. */
const measuredForMs = 5_000;
/** After this process has added this part of a share, the bytes are measured again. */
const measureAfterPart = 1 / 8;

/**
 * Bounds the bytes of dead letters, so that they do not fill the disks of the read model. Several projectors may
 * together exceed a share by the bytes that each of them adds between two measurements.
 */
export function createByteShares(
  measure: () => Promise<Map<string, number>>,
  shareBytes: number,
  nowMs: () => number = () => performance.now(),
): ByteShares {
  let sizes = new Map<string, number>();
  let measuredMs = -Infinity;
  let addedBytes = 0;
  const readSizes = async (): Promise<Map<string, number>> => {
    if (nowMs() - measuredMs < measuredForMs && addedBytes < shareBytes * measureAfterPart) return sizes;
    sizes = await measure();
    measuredMs = nowMs();
    addedBytes = 0;
    return sizes;
  };
  return {
    left: async (topic) => shareBytes - ((await readSizes()).get(topic) ?? 0),
    add: (topic, bytes) => {
      addedBytes += bytes;
      sizes.set(topic, (sizes.get(topic) ?? 0) + bytes);
    },
    filled: async () => filledPart(await readSizes(), shareBytes),
  };
}
