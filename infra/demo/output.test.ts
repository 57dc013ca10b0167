import { createOutput } from './output.ts';

function capture(isTTY: boolean, quiet = false) {
  let text = '';
  const output = createOutput({ write: (more) => (text += more), isTTY, columns: 40 }, quiet);
  return { output, text: () => text };
}

test('without a terminal, progress is a line at each quarter without cursor movements', () => {
  const { output, text } = capture(false);
  for (let done = 0; done <= 100; done++) output.progress('Publishing', done / 100);
  expect(text()).toBe(
    ['0 %', '25 %', '50 %', '75 %', '100 %'].map((percent) => `Publishing: ${percent}\n`).join(''),
  );
});

test('on a terminal, progress stays on one line that fits, and other output starts a new line', () => {
  const { output, text } = capture(true);
  output.progress('A step with a very long name indeed, so long', 0.5);
  output.say('next');
  const [bar = '', next] = text().replaceAll('\r\x1b[2K', '').split('\n');
  expect(bar.length).toBeLessThan(40);
  expect(next).toBe('next');
});

test('on a terminal, a status replaces the previous one', () => {
  const { output, text } = capture(true);
  output.status('first');
  output.status('second');
  expect(text()).toBe('\r\x1b[2Kfirst\r\x1b[2Ksecond');
});

test('a quiet output prints only the lines that are always printed', () => {
  const { output, text } = capture(true, true);
  output.say('said');
  output.status('status');
  output.progress('step', 0.5);
  output.always('always');
  expect(text()).toBe('always\n');
});
