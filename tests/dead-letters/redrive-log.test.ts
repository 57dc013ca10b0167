import { created } from '../support/entities.ts';
import { encode } from '../support/events.ts';
import { runCli } from '../support/run-cli.ts';
import { useProjector } from '../support/use-projector.ts';

const count = 3_000;

describe('a flood of rejected records beyond the share of their topic', () => {
  const { environment, topic, send, applied, find, deadLetters, ...projector } = useProjector({
    projectors: 0,
  });
  const cli = (...args: string[]) => projector.cli('dead-letters', ...args);
  const json = async (...args: string[]) => {
    const { text } = await cli(...args, '--json');
    return JSON.parse(text) as Record<string, unknown>;
  };

  beforeAll(async () => {
    await projector.start({ settings: { DEAD_LETTER_MEGABYTES_MAX: 1 } });
    const tags = Array.from({ length: count }, (_, index) => created('tag', `tag_${index}`));
    // Another organization already has each tag.
    const foreign = tags.map((tag) => ({ ...tag, orgId: 'org_2', version: 2 }));
    const records = [...tags, ...foreign].map((event) => encode(event, 'structured'));
    for (let start = 0; start < records.length; start += 1_000)
      await send('tag', ...records.slice(start, start + 1_000));
    await applied();
  });

  test('is stored completely with the bytes that fit', async () => {
    const letters = await deadLetters();
    expect(letters).toHaveLength(count);
    const attached = letters.filter(({ bytes }) => bytes !== undefined);
    expect(attached.length).toBeGreaterThan(0);
    expect(attached.length).toBeLessThan(100);
    expect(await json('list', '--limit', '1')).toMatchObject({
      total: count,
      counts: [{ topic: topic('tag'), reason: 'wrong_organization', count }],
    });
    const bounded = { ...environment.variables, DEAD_LETTER_MEGABYTES_MAX: '1' };
    const { text } = await runCli(bounded, ['status']);
    expect(text).toContain('dead letters: 3,000');
    expect(text).toContain('further ones are stored without their bytes');
    const lastId = letters.at(-1)?._id ?? '';
    expect((await cli('show', lastId)).text).toMatch(/^size +its bytes are not stored/m);
    expect(await cli('show', lastId, '--raw')).toMatchObject({ code: 2 });
  });

  test('is applied by a redrive in the order of the log from stored bytes and from Kafka', async () => {
    const letters = await deadLetters();
    const lastId = letters.at(-1)?._id;
    expect(await json('redrive', '--all', '--dry-run')).toMatchObject({ deadLetters: count, refused: count });
    // Without the entities of the other organization, the records are valid.
    await environment.database.collection('tags').deleteMany({});
    const limit = count - 1;
    const { text } = await cli('redrive', '--all', '--limit', String(limit));
    expect(text).toContain('2,999 dead letters: 2999 applied');
    expect(await find('tag', 'tag_0')).toMatchObject({ orgId: 'org_2', position: { offset: count } });
    expect(await find('tag', `tag_${limit - 1}`)).toMatchObject({ orgId: 'org_2' });
    const left = await deadLetters();
    expect(left.map(({ _id }) => _id)).toEqual([lastId]);
    expect(await cli('redrive', letters[0]?._id ?? '')).toMatchObject({ code: 1 });
  });

  test('keeps a record without bytes in the ledger or Kafka until an operator purges it', async () => {
    const [letter] = await deadLetters();
    const id = letter?._id ?? '';
    expect(id).toContain(`${topic('tag')}/0/${2 * count - 1}@`);
    await projector.deleteRecords('tag', 2 * count);
    const { code, text } = await cli('redrive', id);
    expect(code).toBe(1);
    expect(text).toContain(`${id}  wrong_organization: its bytes are not stored, and the log does not have`);
    expect(await json('purge', id, '--yes')).toEqual({ dryRun: false, purged: 1 });
    expect(await deadLetters()).toEqual([]);
  });
});
