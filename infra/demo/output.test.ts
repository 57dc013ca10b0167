import { createOutput } from './output.ts';

function capture(isTTY: boolean, quiet = false) {
  let text = '';
  const output = createOutput({ write: (more) => (text += more), isTTY, columns: 40 }, quiet);
  return { output, text: () => text };
}

test('without a terminal progress is a line at each quarter, and nothing moves the cursor', () => {
  const { output, text } = capture(false);
  for (let done = 0; done <= 100; done++) output.progress('Publishing', done / 100);
  expect(text()).toBe(
    ['0 %', '25 %', '50 %', '75 %', '100 %'].map((percent) => `Publishing: ${percent}\n`).join(''),
  );
});

test('on a terminal progress stays on one line that fits, and the next line starts a new one', () => {
  const { output, text } = capture(true);
  output.progress('A step with a very long name indeed, so long', 0.5);
  output.say('next');
  const [bar = '', next] = text().replaceAll('\r\x1b[2K', '').split('\n');
  expect(bar.length).toBeLessThan(40);
  expect(next).toBe('next');
});

test('on a terminal a status takes the place of the one before', () => {
  const { output, text } = capture(true);
  output.status('first');
  output.status('second');
  expect(text()).toBe('\r\x1b[2Kfirst\r\x1b[2Ksecond');
});

test('a quiet output prints only what it is told to', () => {
  const { output, text } = capture(true, true);
  output.say('said');
  output.status('status');
  output.progress('step', 0.5);
  output.tell('told');
  expect(text()).toBe('told\n');
});
