import { startScript } from '../../infra/service.ts';

/** Runs a benchmark once with little data, and returns the tables that it prints. No test depends on the figures. */
async function run(name: string): Promise<string> {
  const bench = startScript('tests/bench/main.ts', process.env, [name, '--quick']);
  const code = await bench.exited;
  if (code !== 0) throw new Error(`${name} ended with ${code}: ${bench.stderr()}`);
  return bench.stdout();
}

/** Returns the figures of the row that starts with a text. A store without counters leaves some cells empty. */
const figuresOf = (text: string, start: string): number[] => {
  const row = text.split('\n').find((line) => line.startsWith(`| ${start}`)) ?? '';
  return row
    .split('|')
    .slice(2, -1)
    .filter((cell) => cell.trim() !== '–')
    .map((cell) => Number(cell.replaceAll(',', '')));
};

test('npm run bench measures every contender on all of the records', async () => {
  const projecting = await run('projecting');
  const records = Number(/^([\d,]+) records\.$/m.exec(projecting)?.[1]?.replace(',', ''));
  // A quick run publishes a few thousand records. Far fewer would mean that the page does not show the whole run.
  expect(records).toBeGreaterThan(1_000);
  for (const name of ['bulk-write', 'projector']) {
    const [documents, ...rates] = figuresOf(projecting, `\`${name}\`: `);
    expect({ name, documents }).toEqual({ name, documents: records });
    expect(rates[0]).toBeGreaterThan(0);
  }
  // Only the connector may be left out, with a reason.
  expect(projecting).toMatch(/^(\| `connector`: |Left out: `connector`, because it )/m);
  const serving = await run('serving');
  const requests = [
    'a list of 20 tickets',
    'a ticket',
    'a conversation of 5 messages',
    'a page of 20 messages',
  ];
  for (const request of requests) {
    for (const name of ['bare', 'api'])
      expect(figuresOf(serving, `${request}: \`${name}\``).every((figure) => figure > 0)).toBe(true);
  }
});

test('npm run bench measures how long events take until they can be read', async () => {
  const following = await run('following');
  for (const rate of ['600', '3,000']) {
    const [events, ...times] = figuresOf(following, `${rate} `);
    expect(events).toBeGreaterThan(1_000);
    expect({ rate, times: times.filter((time) => time > 0) }).toEqual({ rate, times });
  }
  expect(figuresOf(following, '`write` ').every((ms) => ms > 0)).toBe(true);
});

test('npm run bench measures repairs beside a rebuild', async () => {
  const repairing = await run('repairing');
  for (const work of [
    '`verify ticket --repair`, every document wrong',
    '`verify message --repair`',
    '`rebuild start`',
  ]) {
    const [documents, seconds] = figuresOf(repairing, work);
    expect({ work, isMeasured: Number(documents) > 100 && Number(seconds) > 0 }).toEqual({
      work,
      isMeasured: true,
    });
  }
});
