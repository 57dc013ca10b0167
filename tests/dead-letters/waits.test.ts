import { type Logger, pino } from 'pino';
import { progressOf } from '../../shared/control/progress.ts';
import { created } from '../support/entities.ts';
import { encode } from '../support/events.ts';
import { eventually } from '../support/eventually.ts';
import { createStoreProxy, proxiedUrl } from '../support/store-proxy.ts';
import { useProjector } from '../support/use-projector.ts';

/** A logger, and a promise for the next failed batch. */
function listeningLogger(): { logger: Logger; failed: () => Promise<void> } {
  const waiting: (() => void)[] = [];
  const write = (line: string) => {
    if (line.includes('could not apply')) {
      for (const resolve of waiting.splice(0)) resolve();
    }
  };
  return {
    logger: pino({ level: 'error' }, { write }),
    failed: () => new Promise((resolve) => waiting.push(resolve)),
  };
}

describe('a projector that cannot store dead letters', () => {
  const { environment, topic, send, applied, find, deadLetters, committed, start } = useProjector({
    projectors: 0,
  });

  const tag = (name: string, version: number) =>
    encode(created('tag', 'tag_1', { name }, version), 'structured');

  test('waits for MongoDB and then continues', async () => {
    const proxy = createStoreProxy(environment.config.MONGODB_URL);
    const port = await proxy.listen();
    const { logger, failed } = listeningLogger();
    const projector = await start({ logger, settings: { MONGODB_URL: proxiedUrl(port) } });
    await send('tag', tag('before', 1));
    await applied();
    // The commit follows the saved progress, and the watermark.
    await eventually(async () => (await committed('tag')) === 1);
    await proxy.cut();
    // This record comes alone, so that the chunk needs MongoDB only to store the dead letter.
    await send('tag', { key: 'tag_1', value: '{' });
    await failed();
    await failed();
    await send('tag', tag('after', 2));
    const saved = await progressOf(environment.control).findOne({ topic: topic('tag') });
    expect(saved?.applied.position).toBe(1);
    expect(await committed('tag')).toBe(1);
    expect(await deadLetters()).toEqual([]);
    await proxy.listen(port);
    await applied();
    expect(await deadLetters()).toMatchObject([{ topic: topic('tag'), offset: 1 }]);
    expect(await find('tag', 'tag_1')).toMatchObject({ state: { name: 'after' } });
    await projector.stop();
    await proxy.cut();
  });
});
