import { readOptions, readTimeoutMs } from './deadline.ts';

test('reads at the same time share a signal; a later read has its whole time again', () => {
  const startMs = performance.now();
  const now = jest.spyOn(performance, 'now');
  const signalAt = (ms: number) => {
    now.mockReturnValue(startMs + ms);
    return readOptions().signal;
  };
  const first = signalAt(readTimeoutMs);
  expect(signalAt(readTimeoutMs + 499)).toBe(first);
  expect(signalAt(readTimeoutMs + 500)).not.toBe(first);
  now.mockRestore();
});
