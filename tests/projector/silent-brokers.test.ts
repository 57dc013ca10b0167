import { created } from '../support/entities.ts';
import { createSilentProxy, type Silence } from '../support/silent-proxy.ts';
import { useOpened } from '../support/use-opened.ts';
import { useProjector } from '../support/use-projector.ts';

/** The limit of a request that a test waits for, and one that none does, in milliseconds. */
const limitMs = 10_000;
const endlessMs = 600_000;

describe('connections to the broker fall silent', () => {
  const { environment, publish, applied, start, committed } = useProjector({ projectors: 0, each: true });
  const opened = useOpened(() => createSilentProxy(environment.config.KAFKA_BROKERS[0] ?? ''), {
    each: true,
  });
  const startThroughProxy = async (requestTimeoutMs: number) => {
    const projector = await start({ through: () => opened.kafka(requestTimeoutMs) });
    await publish(created('tag', 'tag_before'));
    await applied();
    return projector;
  };
  const silences: Silence[] = ['forget', 'drop'];

  test.each(silences)(
    '(%s): the projector goes on after the limit of one request',
    async (how) => {
      const projector = await startThroughProxy(limitMs);
      const silentMs = performance.now();
      opened.silence(how);
      await publish(created('tag', 'tag_after'));
      await applied();
      // Had it waited for two requests, one after the other, it would be later.
      expect(performance.now() - silentMs).toBeLessThan(2 * limitMs);
      expect(projector.fatal).toEqual([]);
    },
    120_000,
  );

  test.each(silences)(
    '(%s): a projector that is stopped meanwhile commits the positions',
    async (how) => {
      const projector = await startThroughProxy(endlessMs);
      opened.silence(how);
      await projector.stop();
      expect(await committed('tag')).toBe(1);
    },
    60_000,
  );

  test('also the later ones: a projector that is stopped meanwhile ends', async () => {
    const projector = await startThroughProxy(endlessMs);
    opened.silence('forget', { isForNew: true });
    const stopMs = performance.now();
    await projector.stop();
    // The grace that `main` gives it, without chunks in progress.
    expect(performance.now() - stopMs).toBeLessThan(10_000);
  }, 60_000);
});
