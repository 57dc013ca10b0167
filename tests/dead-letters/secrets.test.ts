import { pino } from 'pino';
import { openConsole } from '../console/test-console.ts';
import { channelsWithSecrets } from '../support/channels-with-secrets.ts';
import { encode, type Event, type Produced } from '../support/events.ts';
import { useProjector } from '../support/use-projector.ts';

/** Records of an event that a projector refuses, with further secrets. */
function refusedRecords(event: Event): Produced[] {
  const { key, value, headers } = encode(event, 'structured');
  const text = String(value);
  const values = [
    text.slice(0, -1),
    text.replace('updated.v1', 'updated.v2').replace('created.v1', 'created.v2'),
    text.replaceAll('"name":', '"name":{"of":"SECRET-4"},"was":'),
    text.replace('"subject":"', '"subject":"SECRET-5 '),
    text.replace('"orgid":"', '"orgid":"SECRET-6 '),
  ];
  return values.map((changed) => ({
    key,
    value: changed,
    headers: { ...headers, 'x-credentials': 'SECRET-7' },
  }));
}

describe('secrets of records that the projector refuses', () => {
  const { environment, send, applied, start, stop, deadLetters, cli } = useProjector({ projectors: 0 });
  const lines: string[] = [];
  let ids: string[] = [];

  beforeAll(async () => {
    // given records with secrets everywhere, in fields of the right and of the wrong type, readable and not
    await start({ logger: pino({ level: 'trace' }, { write: (line: string) => lines.push(line) }) });
    const refused = channelsWithSecrets.flatMap(refusedRecords);
    await send('channel', ...refused, { key: 'SECRET-8 of someone', value: '{' });
    await applied();
    await stop();
    ids = (await deadLetters()).map(({ _id }) => _id);
    expect(ids).toHaveLength(refused.length + 1);
  });
  const secretsIn = (shown: string[]) => shown.join('').match(/.{0,80}SECRET.{0,20}/g);
  /** The number of outputs that name a dead letter: outputs without one prove nothing. */
  const countNaming = (shown: string[]) => shown.filter((text) => text.includes('channels/0/')).length;

  test('are in no log', () => {
    expect(lines.length).toBeGreaterThan(0);
    expect(secretsIn(lines)).toBeNull();
  });

  test('are in no output of a command', async () => {
    const shown: string[] = [];
    const commands = [
      ['list'],
      ['list', '--json'],
      ['redrive', '--all', '--dry-run'],
      ['redrive', '--all', '--json'],
      ...ids.slice(0, 6).map((id) => ['show', id]),
    ];
    for (const args of commands) {
      const { text, errors } = await cli('dead-letters', ...args);
      shown.push(text + errors);
    }
    expect(countNaming(shown)).toBeGreaterThan(6);
    expect(secretsIn(shown)).toBeNull();
  });

  test('are on no page of the console', async () => {
    const console = await openConsole(environment.variables);
    const shown = [await console.read('/dead-letters')];
    for (const id of ids) shown.push(await console.read(`/dead-letters?id=${encodeURIComponent(id)}`));
    await console.close();
    expect(countNaming(shown)).toBeGreaterThan(ids.length);
    expect(secretsIn(shown)).toBeNull();
  });

  test('are only in the bytes that show --raw prints', async () => {
    const { text } = await cli('dead-letters', 'show', ids[0] ?? '', '--raw');
    expect(text).toContain('SECRET-1');
  });
});
