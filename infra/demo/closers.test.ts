import { createClosers } from './closers.ts';

test('closers run once, in reverse order, and a failure does not stop the rest', async () => {
  const stopped: string[] = [];
  const reported: string[] = [];
  const closers = createClosers();
  closers.add('servers', async () => stopped.push('servers'));
  closers.add('projector', () => Promise.reject(new Error('gone')));
  closers.add('API', async () => stopped.push('API'));
  await closers.closeAll((line) => reported.push(line));
  await closers.closeAll((line) => reported.push(line));
  expect(stopped).toEqual(['API', 'servers']);
  expect(reported).toEqual(['projector could not be stopped: gone']);
});
