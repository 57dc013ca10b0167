import { html } from '../../shared/pages/html.ts';
import { ago, breakable, contentOf, duration, withAges } from './layout.ts';

const now = new Date('2026-11-24T12:00:00.000Z');
const textOf = (markup: { html: string }) => markup.html.replace(/<[^>]*>/g, '');

test.each([
  [0, '0 s ago'],
  [119, '119 s ago'],
  [120, '2 min ago'],
  [172_800, '2 days ago'],
  // The clock of the store is some seconds ahead.
  [-5, '0 s ago'],
  [-7_200, 'in 2 h'],
])('an instant %d seconds before now is shown as %s', (seconds, shown) => {
  expect(textOf(ago(new Date(now.getTime() - seconds * 1_000), now))).toBe(shown);
});

test('a duration is shown in the largest unit that it fills at least twice', () => {
  expect([1, 119, 7_199, 7_200].map(duration)).toEqual(['1 s', '119 s', '120 min', '2 h']);
});

test('instants in a text are replaced by their ages, with the instant as title', () => {
  const at = new Date(Date.now() - 7_200_000).toISOString();
  const shown = withAges(`expired at ${at}: <gone>; complete up to ${at} (7199 s ago), 0 left`);
  expect(textOf(shown)).toBe('expired 2 h ago: &#60;gone&#62;; complete up to 2 h ago, 0 left');
  expect(shown.html).toContain(`<time title="${at}">`);
  expect(textOf(withAges(`no projector has run since ${at}, or since ${at} or before`))).toBe(
    'no projector has run for 2 h, or for 2 h or longer',
  );
});

test.each([
  'stands since 2026-11-31T25:00Z for good',
  '2026-99-99T9Z',
  'key_2026-11-24T11:00:00Z of org_1',
  'ti_1-2026-11-24T11:00:00Z',
  '2026-11-24T11:00:00Z-1',
])('%s contains no instant and is unchanged', (text) => {
  expect(withAges(text).html).toBe(text);
});

test('an id may break after its separators', () => {
  expect(breakable('a.b/0/1@2').html).toBe('a.b/<wbr />0/<wbr />1@<wbr />2');
});

test('content that cannot be read or shown is replaced by the reason', () => {
  const show = (value: string | null, problem: string | null) =>
    contentOf({ value, at: now, problem }, (text) => html`${withAges(text)}`).html;
  expect(show('yes', null)).toMatch(/^yes[^]*Read at 12:00:00 UTC/);
  const refused = show(null, '<b>no</b>');
  expect(refused).toContain('class="finding bad"');
  expect(refused).toContain('&#60;b&#62;no&#60;/b&#62;');
  // An operator has edited a stored text into a number.
  const unreadable = show(5 as unknown as string, null);
  expect(unreadable).toContain('class="finding bad"');
  expect(unreadable).toContain('is not a function');
});
