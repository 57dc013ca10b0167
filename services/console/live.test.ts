import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { html } from '../../shared/pages/html.ts';
import { createLive } from './live.ts';

/** A client of /events that has read everything, or nothing since its buffer was full. */
function client(writableNeedDrain: boolean) {
  const written: string[] = [];
  let isDestroyed = false;
  const response = Object.assign(new EventEmitter(), {
    writableNeedDrain,
    writeHead: () => response,
    write: (text: string) => written.push(text),
    destroy: () => void (isDestroyed = true),
  });
  return { response: response as unknown as ServerResponse, written, isDestroyed: () => isDestroyed };
}

test('a client that does not read is left, and the others get the page', async () => {
  const [reader, stuck] = [client(false), client(true)];
  const rendered = Promise.withResolvers<void>();
  const live = createLive(
    async () => {
      setImmediate(rendered.resolve);
      return { lag: html`3 s` };
    },
    () => undefined,
  );
  live.join('/', stuck.response);
  live.join('/', reader.response);
  await rendered.promise;
  expect(stuck.isDestroyed()).toBe(true);
  expect(stuck.written.join('')).not.toContain('data:');
  expect(reader.isDestroyed()).toBe(false);
  expect(reader.written.join('')).toContain('data: {"lag":"3 s"}');
});
