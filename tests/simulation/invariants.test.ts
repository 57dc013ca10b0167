import { globSync, readFileSync } from 'node:fs';
import { mutations } from './mutations.ts';

const pages = ['consistency', 'joins', 'retention', 'generations'];
const invariants = pages
  .map((page) => readFileSync(`docs/internals/${page}.md`, 'utf8'))
  .join('\n')
  .replace(/\s+/g, ' ');

test.each(mutations)('an invariant names the planted fault "$name"', ({ name }) => {
  expect(invariants).toContain(`\`${name}\``);
});

test.each(mutations)('the planted fault "$name" finds the texts that it replaces', ({ file, edits }) => {
  const text = readFileSync(file, 'utf8');
  for (const find of Object.keys(edits))
    expect({ find, count: text.split(find).length - 1 }).toEqual({ find, count: 1 });
});

test('the invariants that the code refers to exist', () => {
  const sources = globSync('services/projector/**/*.ts').map((file) => readFileSync(file, 'utf8'));
  const numbers = sources.flatMap((text) =>
    [...text.matchAll(/\bInvariants? (\d+)/g)].map(([, number]) => number),
  );
  expect(numbers.length).toBeGreaterThan(0);
  for (const number of numbers) expect(invariants).toContain(`## Invariant ${number}:`);
});
