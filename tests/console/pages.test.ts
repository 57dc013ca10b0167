import { purgeDeadLetters } from '../../shared/control/ledger-store.ts';
import { progressOf } from '../../shared/control/progress.ts';
import { requestTracesOf } from '../../shared/control/request-traces.ts';
import { release } from '../../shared/runtime/release.ts';
import { standingLetters, storeDeadLetter } from '../support/dead-letters.ts';
import { created } from '../support/entities.ts';
import { encode } from '../support/events.ts';
import { eventually, succeeds } from '../support/eventually.ts';
import { useOpened } from '../support/use-opened.ts';
import { useProjector } from '../support/use-projector.ts';
import { waitingKafka } from '../support/waiting-kafka.ts';
import { openConsole, textOf } from './test-console.ts';

describe('the console', () => {
  const { environment, publish, applied, start, stop, topic } = useProjector({ projectors: 0 });
  const console = useOpened(() => openConsole(environment.variables));
  const contacts = () => `/lag?topic=${topic('contact')}`;

  test('the console shows that no projector has started, with the command that starts one', async () => {
    await console.shows(
      '/',
      'Unknown: no projector has started on this database',
      'GENERATION=1 npm run projector',
    );
    await console.shows('/lag', 'No topic is known yet');
  });

  test('the console shows the lag and the cause of a partition that no projector applies', async () => {
    await start();
    await publish(created('contact', 'con_1'), created('tag', 'tag_1'));
    await applied();
    await console.shows(
      '/lag',
      '11 topics and 11 partitions of generation 1',
      `${topic('contact')} 1 1 0 0 0 s follows`,
    );
    await console.shows(contacts(), `${topic('contact')}/0 1 1 0 0 0 s follows`);
    await stop();
    await publish(created('contact', 'con_2'), created('contact', 'con_3'));
    // As if the projector had stopped an hour ago.
    const anHourAgo = new Date(Date.now() - 3_600_000);
    const contact = { _id: `1/${topic('contact')}/0` };
    await progressOf(environment.control).updateOne(contact, { $set: { completeTo: anHourAgo } });
    await console.shows(
      contacts(),
      new RegExp(`${topic('contact')}/0 1 3 2 0 3,[56]\\d\\d s no projector applies a partition none`),
    );
    await console.shows('/', 'Records to apply 2', 'Projectors 0');
  });

  test('the console names the projector to which a partition is assigned', async () => {
    const delivery = Promise.withResolvers<void>();
    await start({
      through: (kafka) => waitingKafka(kafka, () => delivery.promise),
      // The projector sends no heartbeat while it waits for the delivery.
      settings: { KAFKA_SESSION_TIMEOUT_MS: 300_000 },
    });
    const member = `${environment.config.CONSUMER_GROUP}-[0-9a-f-]{36}`;
    await console.shows(
      contacts(),
      new RegExp(
        `${topic('contact')}/0 1 3 2 .* s the broker has not delivered [a-z :]+ projector 1 .* projector 1 1 ${release} 11 [0-9a-f.:]+ ${member}`,
      ),
    );
    delivery.resolve();
    await applied();
    await console.shows(contacts(), `${topic('contact')}/0 3 3`);
  });
});

describe('the pages of dead letters and documents', () => {
  const { environment, publish, send, applied, topic, cli, deadLetters, alterTopic } = useProjector();
  const hostile = '<script>alert("1")</script>';
  const console = useOpened(() => openConsole(environment.variables));
  beforeAll(async () => {
    await publish(created('contact', 'con_1'), created('ticket', 'ti_1', { tagIds: ['tag_missing'] }));
    await send('contact', { key: hostile, value: JSON.stringify({ name: hostile, [hostile]: 1 }) });
    await applied();
  });

  test('the pages show a record with a timestamp in nanoseconds without a time', async () => {
    const timestamp = '1790000000123456789';
    // Kafka rejects records from the future, unless the topic allows them.
    await alterTopic('tag', { 'message.timestamp.after.max.ms': '9223372036854775807' });
    const records = [
      { ...encode(created('tag', 'tag_nano'), 'binary'), timestamp },
      { key: 'tag_refused', value: '{', timestamp },
    ];
    // The broker confirms the setting a moment before the setting applies. A refused batch leaves no record.
    await eventually(() => succeeds(send('tag', ...records)));
    await applied();
    const [refused] = await deadLetters((letter) => letter.topic === topic('tag'));
    await console.shows('/explain?id=tag_nano', `${topic('tag')}/0/0 no valid time`);
    // A purge loses the bytes, so the console suggests a purge only for a single record, never for a group.
    await console.shows('/dead-letters', 'no valid time', `redrive --topic ${topic('tag')}`);
    const id = refused?._id ?? '';
    const purge = `data-copy="npx support-cli dead-letters purge ${id}"`;
    expect(await console.read(`/dead-letters?id=${encodeURIComponent(id)}`)).toContain(purge);
    const texts = await Promise.all([
      cli('explain', 'tag_nano'),
      cli('dead-letters', 'list', '--topic', topic('tag')),
      cli('dead-letters', 'show', id),
    ]);
    expect(texts.map(({ code, errors }) => [code, errors])).toEqual(texts.map(() => [0, '']));
    expect(texts.map(({ text }) => text.includes('no valid time'))).toEqual([true, false, true]);
    const explained = await cli('explain', 'tag_nano', '--json');
    expect(JSON.parse(explained.text)).toMatchObject({ documents: [{ record: { time: null } }] });
    await cli('dead-letters', 'purge', '--topic', topic('tag'), '--yes');
  });

  test('the pages escape every text of a record that a foreign producer wrote', async () => {
    const [{ _id: id } = { _id: '' }] = await deadLetters();
    const redrive = `npx support-cli dead-letters redrive --topic ${topic('contact')} --reason`;
    await console.shows('/dead-letters', id, redrive, '1 dead letter,');
    const pages = [
      await console.read('/dead-letters'),
      await console.read(`/dead-letters?id=${encodeURIComponent(id)}`),
      await console.read(`/dead-letters?id=${encodeURIComponent(hostile)}`),
      await console.read(`/explain?id=${encodeURIComponent(hostile)}`),
    ];
    for (const page of pages) expect(page).not.toMatch(/<script>|alert\("/);
    expect(pages[1]).toContain('&#60;27 bytes&#62;');
    expect(pages[3]).toContain('&#60;script&#62;alert(&#34;1&#34;)&#60;/script&#62;');
  });

  test('the pages link a document to its records and to its dead letters', async () => {
    const id = await storeDeadLetter(environment, created('ticket', 'ti_1'), { offset: 9 });
    const page = await console.read('/explain?id=ti_1');
    await purgeDeadLetters(environment.control, [id], { by: 'ann', at: new Date() });
    const text = textOf(page);
    const { text: printed } = await cli('explain', 'ti_1');
    // These lines of the command contain no age, so the page shows the same text a moment later.
    const lines = printed.split('\n').filter((line) => /^ {2}(generation|org|status|fresh)/.test(line));
    expect(lines.length).toBe(4);
    for (const line of lines) expect(text).toContain(line.trim().replace(/\s+/g, ' '));
    expect(text).toMatch(new RegExp(`state ticket ti_1 living 1 ${topic('ticket')}/0/0 \\d+ (s|min) ago`));
    expect(text).toContain('fresh join no difference');
    expect(page).toContain('tag <a href="/explain?id=tag_missing">tag_missing</a>');
    expect(page).toContain(
      `<a href="/lag?generation=1&#38;topic=${topic('ticket')}">${topic('ticket')}/0/0</a>`,
    );
    expect(page).toMatch(/<time title="\d{4}-[^"]*">\d+ (s|min) ago/);
    expect(page).toContain(`<a href="/dead-letters?id=${encodeURIComponent(id)}">${id}</a>`);
    expect(text).toContain('bad_data: data: must be another');
  });

  test('the pages show the trace of a request for its Request-Id', async () => {
    const _id = 'req_01HNZX8JGFACFA36RBXDHEQN6E';
    const caller = { keyId: 'key_1', orgId: 'org_1', at: new Date(), status: 200, code: null };
    const request = {
      route: '/v1/tickets/:id',
      method: 'GET',
      parameters: [],
      durationMs: 1,
      aborted: false,
    };
    const trace = { _id, pathId: 'ti_1', ...request, ...caller };
    const batch = { _id, traces: [trace], replica: 'api-1', expiresAt: new Date(Date.now() + 60_000) };
    await requestTracesOf(environment.control).insertOne(batch);
    const text = textOf(await console.read(`/explain?id=${_id}`));
    expect(text).toContain('/v1/tickets/:id');
    expect(text).toContain('ticket ti_1');
    // The page of a document lists the requests that named the document.
    // A page may show the explanation of a moment ago, so that a slow read is made less often.
    await eventually(async () =>
      (await console.read('/explain?id=ti_1')).includes(`<a href="/explain?id=${_id}">`),
    );
    expect(textOf(await console.read('/explain?id=req_01HNZX8JGFACFA36RBXDHEQN6F'))).toContain(
      'there is no trace of',
    );
  });
});

describe('a list of more dead letters than a page shows', () => {
  const { environment, applied, topic } = useProjector();
  const console = useOpened(() => openConsole(environment.variables));
  beforeAll(async () => {
    await applied();
    for (let offset = 100; offset < 210; offset += 1)
      await storeDeadLetter(environment, created('tag', `tag_${offset}`), { offset, now: new Date(offset) });
    await storeDeadLetter(environment, created('contact', 'con_1'));
  });

  test('the list shows the latest dead letters and the command that lists more', async () => {
    const page = await console.read('/dead-letters');
    const listed = [...page.matchAll(/href="\/dead-letters\?id=([^"]*)"/g)].map(([, id = '']) =>
      decodeURIComponent(id),
    );
    const stored = await standingLetters(environment.control);
    expect(stored).toHaveLength(111);
    const latest = stored.toSorted((a, b) => Number(b.lastAt) - Number(a.lastAt)).slice(0, 20);
    expect(listed).toEqual(latest.map(({ _id }) => _id));
    expect(textOf(page)).toContain('More of them: npx support-cli dead-letters list --limit 1000');
    const filtered = textOf(await console.read(`/dead-letters?topic=${topic('tag')}`));
    expect(filtered).toContain(`dead-letters list --topic ${topic('tag')} --limit 1000`);
  });

  test('the list links each dead letter to its entity and shows its time in Kafka', async () => {
    const first = await console.read('/dead-letters');
    expect(first).toContain('<a href="/explain?id=tag_209">');
    expect(first).toContain('<time title="2023-11-14T22:13:20.000Z">');
    expect(textOf(first)).toMatch(/tag_209 bad_data: data: must be another \d+ days ago/);
  });

  test('the list can be filtered by topic and by reason', async () => {
    const contacts = textOf(await console.read(`/dead-letters?topic=${topic('contact')}`));
    expect(contacts).toContain(`1 dead letter, by topic and reason`);
    expect(contacts).not.toContain('tag_100');
    expect(textOf(await console.read('/dead-letters?reason=not_json'))).toContain(
      'No dead letter has reason not_json. Show all.',
    );
  });
});
