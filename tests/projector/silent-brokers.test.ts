import { created } from '../support/entities.ts';
import { startKafkaBehindProxy } from '../support/silent-kafka.ts';
import { createSilentProxy, type Silence } from '../support/silent-proxy.ts';
import { useOpened } from '../support/use-opened.ts';
import { useProjector } from '../support/use-projector.ts';

/** A request limit that a test waits for. */
const limitMs = 10_000;
/** A request limit that no test reaches. */
const unreachedLimitMs = 600_000;

const silences: Silence[] = ['forget', 'drop'];

describe('a projector whose connections to the broker fall silent', () => {
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
  test.each(silences)(
    'continues after the time limit of one request (%s)',
    async (how) => {
      const projector = await startThroughProxy(limitMs);
      const silentMs = performance.now();
      opened.silence(how);
      await publish(created('tag', 'tag_after'));
      await applied();
      // A projector that waits for two requests in succession would take longer.
      expect(performance.now() - silentMs).toBeLessThan(2 * limitMs);
      expect(projector.fatal).toEqual([]);
    },
    120_000,
  );

  test.each(silences)(
    'commits its positions when it is stopped in the meantime (%s)',
    async (how) => {
      const projector = await startThroughProxy(unreachedLimitMs);
      opened.silence(how);
      await projector.stop();
      expect(await committed('tag')).toBe(1);
    },
    60_000,
  );

  test('ends although new connections fall silent too', async () => {
    const projector = await startThroughProxy(unreachedLimitMs);
    opened.silence('forget', { isForNew: true });
    const stopMs = performance.now();
    await projector.stop();
    // `main` gives a projector without chunks in progress this long to stop.
    expect(performance.now() - stopMs).toBeLessThan(10_000);
  }, 60_000);
});

/** The broker advertises the proxy, so the process needs no changed client. */
describe('a projector process that gets SIGTERM while its connections are silent', () => {
  const kafka = useOpened(startKafkaBehindProxy);
  const { publish, applied, startProcess, committed } = useProjector({
    projectors: 0,
    each: true,
    servers: () => ({ ...process.env, KAFKA_BROKERS: kafka.plain }),
  });
  const startBehindProxy = async () => {
    const projector = startProcess({ KAFKA_BROKERS: kafka.proxy.address, GENERATION: '1' });
    await projector.logged('projecting');
    await publish(created('tag', 'tag_before'));
    await applied();
    return projector;
  };
  /** Kubernetes kills a process after 30 s, its default. */
  const killedAfterMs = 30_000;

  test.each(silences)('commits its positions and exits with code 0 (%s)', async (how) => {
    const projector = await startBehindProxy();
    kafka.proxy.silence(how);
    expect(await projector.stop('SIGTERM', killedAfterMs)).toBe(0);
    expect(await committed('tag')).toBe(1);
  });

  test.each(silences)('exits with code 0 although new connections are silent too (%s)', async (how) => {
    const projector = await startBehindProxy();
    kafka.proxy.silence(how, { isForNew: true });
    // The next run of the commit loop waits for an answer.
    await publish(created('tag', 'tag_after'));
    const code = await projector.stop('SIGTERM', killedAfterMs);
    kafka.proxy.silence(how);
    expect(code).toBe(0);
  });
});
