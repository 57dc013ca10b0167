import { randomBytes } from 'node:crypto';
import { alikeMax } from '../../services/projector/dead-letters/store-dead-letters.ts';
import { readTallies } from '../../shared/control/tallies.ts';
import { entryIdOf } from '../../shared/control/tally.ts';
import { created } from '../support/entities.ts';
import { encode } from '../support/events.ts';
import { eventually } from '../support/eventually.ts';
import { runCli } from '../support/run-cli.ts';
import { useProjector } from '../support/use-projector.ts';

const count = 5_000;

describe('a flood of 5,000 alike rejected records', () => {
  const { environment, topic, send, applied, find, deadLetters, ...projector } = useProjector();
  const cli = (...args: string[]) => projector.cli('dead-letters', ...args);
  const json = async (...args: string[]) => {
    const { text } = await cli(...args, '--json');
    return JSON.parse(text) as Record<string, unknown>;
  };
  const tallies = () => readTallies(environment.control, {});
  const countedIds = async () =>
    (await tallies()).flatMap((tally) => tally.entries.map((entry) => entryIdOf(tally, entry)));

  beforeAll(async () => {
    const records = Array.from({ length: count }, (_, index) => ({
      ...encode(created('tag', `tag_${index}`), 'structured'),
      partition: 0,
    }));
    for (let index = 0; index < count; index += 1_000) {
      const own = records.slice(index, index + 1_000);
      await send('tag', ...own);
    }
    // Another organization already has each tag.
    const foreign = records.map((record) => ({
      ...record,
      value: String(record.value)
        .replace('"org_1"', '"org_2"')
        .replace('"entityversion":1', '"entityversion":2'),
    }));
    for (let index = 0; index < count; index += 1_000)
      await send('tag', ...foreign.slice(index, index + 1_000));
    await applied();
  });

  test('takes a few documents, and is listed, shown and found by status', async () => {
    expect(await deadLetters()).toHaveLength(alikeMax);
    expect(await tallies()).toHaveLength(1);
    const [id = ''] = await countedIds();
    const counted = [
      { id, reason: 'wrong_organization', count: count - alikeMax, firstOffset: 5_500, lastOffset: 9_999 },
    ];
    expect(await json('list')).toMatchObject({
      total: count,
      counted,
      counts: [{ topic: topic('tag'), reason: 'wrong_organization', count }],
    });
    expect((await cli('list')).text).toContain(`${id}\n`);
    expect((await cli('show', id)).text).toMatch(/^offsets +5500-9999$/m);
    expect(await cli('show', id, '--raw')).toMatchObject({ code: 2 });
    expect((await projector.cli('status')).text).toContain('dead letters: 5,000');
  });

  test('is applied by a redrive, which reads the records from Kafka by their offsets', async () => {
    const [id = ''] = await countedIds();
    const before = await json('redrive', id, '--dry-run');
    expect(before).toMatchObject({ deadLetters: 4_500, refused: 4_500, applied: 0, notFound: [] });
    // given that the entities of the other organization are gone
    await environment.database.collection('tags').deleteMany({});
    expect(await cli('redrive', id)).toMatchObject({ code: 0 });
    expect(await find('tag', 'tag_4999')).toMatchObject({ orgId: 'org_2', position: { offset: 9_999 } });
    expect(await find('tag', 'tag_0')).toBeNull();
    expect(await tallies()).toEqual([]);
    expect(await cli('redrive', id)).toMatchObject({ code: 1 });
  });

  test('stays if its records are no longer in the log, which the redrive says, until it is purged', async () => {
    // given records that are rejected as the 500 stored ones are, and then lost
    const again = Array.from({ length: 20 }, (_, index) => ({
      ...encode({ ...created('tag', `tag_${4_000 + index}`, {}, 3), orgId: 'org_3' }, 'structured'),
      partition: 0,
    }));
    await send('tag', ...again);
    await applied();
    const [id = ''] = await countedIds();
    await projector.deleteRecords('tag', 10_010);
    const { code, text } = await cli('redrive', id, '--dry-run');
    expect(code).toBe(1);
    expect(text).toContain(
      `${topic('tag')}/0/10009  wrong_organization: only the offset of the record is stored`,
    );
    expect(text).not.toContain('/0/10010  wrong_organization: only the offset');
    expect(await json('purge', id, '--yes')).toEqual({ dryRun: false, purged: 20 });
    expect(await countedIds()).toEqual([]);
    expect(await cli('show', id)).toMatchObject({ code: 1 });
  });
});

describe('dead letters beyond their bound of 1 MB', () => {
  const { environment, send, applied, find, deadLetters, ...projector } = useProjector({ projectors: 0 });

  test('are stored as their heads, and re-driven from Kafka while their records are in the log', async () => {
    await projector.start({ settings: { DEAD_LETTER_MEGABYTES_MAX: 1 } });
    // The stand-in counts bytes as they are stored, so these are ones that do not compress.
    const large = randomBytes(450_000).toString('base64');
    for (const key of ['tag_1', 'tag_2']) await send('tag', { key, value: large });
    const content = 'c'.repeat(3_000);
    await projector.publish(created('message', 'msg_1'));
    await applied();
    await projector.publish({ ...created('message', 'msg_1', { content }, 2), orgId: 'org_2' });
    await applied();
    const [third] = await deadLetters({ reason: 'wrong_organization' });
    const [first] = await deadLetters({ reason: { $ne: 'wrong_organization' } });
    expect(first).toMatchObject({ truncated: null, bytes: large.length + 5 });
    expect(third).toMatchObject({ headers: [], orgId: 'org_2' });
    expect(third?.truncated?.valueBytes).toBeGreaterThan(3_000);
    expect((await projector.cli('status')).text).not.toContain('DEAD_LETTERS_MAX');
    const bounded = { ...environment.environment, DEAD_LETTER_MEGABYTES_MAX: '1' };
    // The statistics of the stand-in lag by seconds.
    await eventually(async () => {
      const { text } = await runCli(bounded, ['status']);
      return text.includes('only the head of a further one is stored');
    });
    await environment.database.collection('messages').deleteMany({});
    const redriven = await projector.cli('dead-letters', 'redrive', third?._id ?? '');
    expect(redriven).toMatchObject({ code: 0 });
    expect(await find('message', 'msg_1')).toMatchObject({ orgId: 'org_2', state: { content } });
  });
});
