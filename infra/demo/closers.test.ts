import { createClosers } from './closers.ts';

test('what was started last is stopped first, once, and a failure holds nothing up', async () => {
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
