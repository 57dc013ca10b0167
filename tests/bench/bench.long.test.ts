import { startScript } from '../../infra/service.ts';

/** Runs a benchmark once with little data; returns the tables that it prints. No test depends on times. */
async function run(name: string): Promise<string> {
  const bench = startScript('tests/bench/main.ts', process.env, [name, '--quick']);
  const code = await bench.exited;
  if (code !== 0) throw new Error(`${name} ended with ${code}: ${bench.stderr()}`);
  return bench.stdout();
}

/** The figures of the row that starts with this text, without commas; a store without counters leaves some out. */
const figures = (text: string, start: string): number[] => {
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
  expect(records).toBeGreaterThan(1_000);
  for (const name of ['bulk-write', 'projector']) {
    const [documents, ...rates] = figures(projecting, `\`${name}\`: `);
    expect({ name, documents }).toEqual({ name, documents: records });
    expect(rates[0]).toBeGreaterThan(0);
  }
  // Only the connector may be left out, with a reason.
  expect(projecting).toMatch(/^(\| `connector`: |Left out: `connector`, because it )/m);
  const serving = await run('serving');
  for (const request of [
    'a list of 20 tickets',
    'a ticket',
    'a conversation of 5 messages',
    'a page of 20 messages',
  ])
    for (const name of ['bare', 'api'])
      expect(figures(serving, `${request}: \`${name}\``).every((figure) => figure > 0)).toBe(true);
});

test('npm run bench measures how long events take until they can be read', async () => {
  const following = await run('following');
  for (const rate of ['600', '3,000']) {
    const [events, ...times] = figures(following, `${rate} `);
    expect(events).toBeGreaterThan(1_000);
    expect({ rate, times: times.filter((time) => time > 0) }).toEqual({ rate, times });
  }
  expect(figures(following, '`write` ').every((ms) => ms > 0)).toBe(true);
});

test('npm run bench measures repairs beside a rebuild', async () => {
  const repairing = await run('repairing');
  for (const work of [
    '`verify ticket --repair`, every document wrong',
    '`verify message --repair`',
    '`rebuild start`',
  ]) {
    const [documents, seconds] = figures(repairing, work);
    expect({ work, isMeasured: Number(documents) > 100 && Number(seconds) > 0 }).toEqual({
      work,
      isMeasured: true,
    });
  }
});
