/** Reports the start and the end of a step that takes long, and in between that it is still at it. */
export async function step<T>(
  report: (line: string) => void,
  name: string,
  work: () => Promise<T>,
): Promise<T> {
  const startedAt = Date.now();
  const seconds = () => Math.round((Date.now() - startedAt) / 1_000);
  report(`${name}…`);
  const still = setInterval(() => report(`${name}… still at it after ${seconds()} s`), stillEveryMs);
  try {
    const result = await work();
    report(`${name}… done in ${seconds()} s`);
    return result;
  } finally {
    clearInterval(still);
  }
}

/** Silence that a reader of the output is left in at most, in milliseconds. */
const stillEveryMs = 20_000;
