/** Reports the start and the end of a long step, and every 20 s that it is still running. */
export async function reportStep<T>(
  report: (line: string) => void,
  name: string,
  work: () => Promise<T>,
): Promise<T> {
  const startedAt = Date.now();
  const seconds = () => Math.round((Date.now() - startedAt) / 1_000);
  report(`${name}…`);
  const timer = setInterval(() => report(`${name}… still running after ${seconds()} s`), silenceMsMax);
  try {
    const result = await work();
    report(`${name}… done in ${seconds()} s`);
    return result;
  } finally {
    clearInterval(timer);
  }
}

/** The maximum time without a line of output, in milliseconds. */
const silenceMsMax = 20_000;
