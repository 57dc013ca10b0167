/** Resolves when every promise that can settle has settled. */
export const idle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
