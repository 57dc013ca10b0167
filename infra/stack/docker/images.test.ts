import { readFileSync } from 'node:fs';
import { images } from './images.ts';

test('the stack in Docker is of the images that docker-compose.yml names', () => {
  const compose = readFileSync('docker-compose.yml', 'utf8');
  const named = [...compose.matchAll(/^\s*image:\s*(\S+)/gm)].map(([, image]) => image);
  expect(named).toEqual(expect.arrayContaining([images.kafka, images.mongo]));
});
