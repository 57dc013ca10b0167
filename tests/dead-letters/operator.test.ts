import type { Kind } from '../../shared/documents/resources.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { type StandingLetter, storeDeadLetter } from '../support/dead-letters.ts';
import { created } from '../support/entities.ts';
import { encode, type Event } from '../support/events.ts';
import { eventually } from '../support/eventually.ts';
import { matching } from '../support/matchers.ts';
import { useProjector } from '../support/use-projector.ts';

describe('dead-letters commands', () => {
  const { environment, topic, send, publish, applied, find, deadLetters, ...projector } = useProjector();
  const deadLetterOf = async (id: string) => {
    const [letter] = await deadLetters(({ _id }) => _id === id);
    return letter ?? null;
  };
  /** The id of the dead letter at an offset of the first partition. */
  const idAt = async (kind: Kind, offset: number) => {
    const isAt = (letter: StandingLetter) => letter.partition === 0 && letter.offset === offset;
    const [letter] = await deadLetters((candidate) => candidate.topic === topic(kind) && isAt(candidate));
    return letter?._id ?? '';
  };
  const cli = (...args: string[]) => projector.cli('dead-letters', ...args);
  const json = async (...args: string[]) => {
    const { text } = await cli(...args, '--json');
    return JSON.parse(text) as Record<string, unknown>;
  };

  /** Runs a command, and expects this exit code and this output. */
  const expectExit = async (code: number, output: RegExp, ...args: string[]) => {
    const ended = await cli(...args);
    expect({ args, code: ended.code, output: ended.text + ended.errors }).toEqual({
      args,
      code,
      output: matching(output),
    });
  };

  /** Stores a dead letter of a record that this release accepts, as if another release had rejected the record. */
  const storeAcceptable = (event: Event, offset: number) =>
    storeDeadLetter(environment, event, {
      offset,
      partition: 7,
      timestampMs: 1_700_000_000_123,
      reason: 'unknown_type',
    });

  describe('for rejected records with personal data and secrets', () => {
    const secrets = ['SECRET', 'help@example.com', 'jane@example.com', 'Support'];
    let value = '';
    let id = '';

    /** Sends a record of a later schema version, a valid record, and a record that is not JSON. */
    beforeAll(async () => {
      const channel = created('channel', 'chan_p');
      const rejected = encode(channel, 'structured');
      value = String(rejected.value).replace('created.v1', 'created.v2');
      const headers = { ...rejected.headers, 'x-by': 'jane@example.com' };
      await send('channel', { ...rejected, value, headers }, encode(channel, 'binary'));
      await send('tag', { key: 'joe@example.com', value: '{"name":"Joe"' });
      await applied();
      id = await idAt('channel', 0);
    });

    test('the projector applies the valid record that follows', async () => {
      expect((await find('channel', 'chan_p'))?.version).toBe(1);
    });

    test('list shows the latest dead letter first without personal data and secrets', async () => {
      const { code, text } = await cli('list');
      expect(code).toBe(0);
      expect(text).toContain('2 shown of 2:');
      const times = [...text.matchAll(/^ {2}(\S+Z) {2}1×/gm)].map(([, time]) => time);
      expect(times).toHaveLength(2);
      expect(times).toEqual(times.toSorted().reverse());
      expect(text).toMatch(
        /channels\/0\/0@\d+\n {2}\S+Z {2}1× {2}unknown_type\n {2}key chan_p {2}org_1\n {2}type: must be/,
      );
      expect(text).toMatch(/tags\/0\/0@\d+\n {2}\S+Z {2}1× {2}not_json\n {2}key <15 bytes> {2}no org\n/);
      expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
    });

    test.each([
      { name: 'organization', filter: ['--org', 'org_1'], total: 1 },
      { name: 'key', filter: ['--key', 'joe@example.com'], total: 1 },
      { name: 'time', filter: ['--until', '2026-01-01T00:00:00Z'], total: 0 },
    ])('list selects by $name', async ({ filter, total }) => {
      const listed = await json('list', ...filter);
      expect(listed).toMatchObject({ total });
      expect(listed.deadLetters).toHaveLength(total);
    });

    test('show prints only the fields that identify the record', async () => {
      const { code, text } = await cli('show', id);
      expect(code).toBe(0);
      expect(text).toContain(`dead-letters redrive ${id}`);
      expect(text).toMatch(/^headers +.*x-by/m);
      for (const shown of ['chan_p', 'org_1', 'unknown_type', '--raw prints']) expect(text).toContain(shown);
      const textAndJson = text + JSON.stringify(await json('show', id));
      expect(secrets.filter((secret) => textAndJson.includes(secret))).toEqual([]);
    });

    test('show --raw prints the bytes to the output and a warning to the errors', async () => {
      const { text, errors } = await cli('show', id, '--raw');
      expect(text).toBe(value);
      expect(errors).toContain('personal data and secrets');
      const rawRecord = await json('show', id, '--raw');
      expect(Buffer.from(String(rawRecord.value), 'base64').toString()).toBe(value);
    });
  });

  describe('for four dead letters, three of which can be redriven', () => {
    const redrive = () => ['redrive', '--topic', topic('contact')];
    const ids = { fresh: '', stale: '', bad: '', org: '' };
    let end = 0;
    let moved: Awaited<ReturnType<typeof find>> = null;

    beforeAll(async () => {
      await publish(created('contact', 'con_moved', { name: 'Now' }, 5), created('contact', 'con_org'));
      await send('contact', { key: 'con_bad', value: '{' });
      await publish({ ...created('contact', 'con_org', { name: 'Other' }, 2), orgId: 'org_2' });
      await applied();
      ids.fresh = await storeAcceptable(created('contact', 'con_fresh', { name: 'Fresh' }), 41);
      ids.stale = await storeAcceptable(created('contact', 'con_moved', { name: 'Then' }, 4), 42);
      ids.bad = await idAt('contact', 2);
      ids.org = await idAt('contact', 3);
      // Now the store accepts the record of the other organization.
      await collectionOf(environment.database, 'contact').deleteOne({ _id: 'con_org' });
      const [offsets] = await environment.admin.fetchTopicOffsets(topic('contact'));
      end = Number(offsets?.high);
      await eventually(async () => (await projector.committed('contact')) === end);
      moved = await find('contact', 'con_moved');
    });

    test('list and show name the next command', async () => {
      expect((await cli('list')).text).toMatch(/dead-letters redrive --topic <topic> --reason <reason>$/);
      expect((await cli('show', ids.bad)).text).toContain(`purge ${ids.bad} (no release can apply it)`);
    });

    test('a dry run prints the outcome and changes nothing', async () => {
      const counts = { deadLetters: 4, applied: 2, superseded: 1, refused: 1 };
      expect(await json(...redrive(), '--dry-run')).toMatchObject(counts);
      expect(await find('contact', 'con_fresh')).toBeNull();
      expect(await deadLetterOf(ids.bad)).toMatchObject({ count: 1 });
    });

    describe('with a redrive of all', () => {
      let redriven: Awaited<ReturnType<typeof cli>>;
      beforeAll(async () => {
        redriven = await cli(...redrive());
      });

      test('redrive prints the outcomes, and exits with code 1 because one record is refused', () => {
        expect(redriven.code).toBe(1);
        expect(redriven.text).toContain('4 dead letters: 2 applied, 1 superseded');
        expect(redriven.text).toContain(`${ids.bad}  not_json`);
      });

      test('redrive applies an accepted record with its own position in the log', async () => {
        expect(await find('contact', 'con_fresh')).toMatchObject({
          state: { name: 'Fresh' },
          position: { partition: 7, offset: 41, timestampMs: 1_700_000_000_123 },
        });
        expect(await find('contact', 'con_org')).toMatchObject({ orgId: 'org_2', state: { name: 'Other' } });
      });

      test('redrive changes only the revision of an entity with a later version', async () => {
        const revision = expect.any(Number) as number;
        expect(await find('contact', 'con_moved')).toEqual({ ...moved, revision });
      });

      test('redrive leaves only the refused dead letter, with its new reason', async () => {
        for (const id of [ids.fresh, ids.stale, ids.org]) expect(await deadLetterOf(id)).toBeNull();
        expect(await deadLetterOf(ids.bad)).toMatchObject({ count: 2, reason: 'not_json' });
      });

      test('redrive commits no offset', async () => {
        expect(await projector.committed('contact')).toBe(end);
      });

      test('redrive names a dead letter that no longer exists', async () => {
        await expectExit(1, /there is no such dead letter/, 'redrive', ids.fresh);
      });
    });
  });

  test('redrive of a deletion erases the dead letters about its entity', async () => {
    const contact = created('contact', 'con_leaves');
    const invalid = { ...contact, version: 2, data: { ...contact.data, email: 'jane@example.com' } };
    await publish(contact, invalid);
    await applied();
    const deletion = await storeAcceptable({ ...contact, version: 3, op: 'deleted' }, 61);
    const aboutContact = () => deadLetters(({ subjects }) => subjects?.includes('con_leaves') === true);
    expect(await aboutContact()).toHaveLength(2);
    expect(await cli('redrive', deletion)).toMatchObject({ code: 0 });
    expect(await aboutContact()).toEqual([]);
  });

  describe('for two dead letters of tags and one of a user', () => {
    /** Each test has its own offsets, because a purged dead letter is never stored again. */
    let offset = 100;
    let second = '';
    const remainingTopics = async () => (await deadLetters()).map((letter) => letter.topic);
    const ofTags = () => ['--topic', topic('tag'), '--reason', 'unknown_type'];

    beforeEach(async () => {
      await cli('purge', '--all', '--yes');
      offset += 3;
      await storeAcceptable(created('tag', 'tag_1'), offset);
      second = await storeAcceptable(created('tag', 'tag_2'), offset + 1);
      await storeAcceptable(created('user', 'user_1'), offset + 2);
    });

    test('purge deletes nothing without --yes or in a dry run', async () => {
      await expectExit(2, /--yes/, 'purge', ...ofTags());
      const dryRun = /^2 dead letters would be deleted\. Dry run: nothing was changed$/;
      await expectExit(0, dryRun, 'purge', ...ofTags(), '--dry-run');
      expect(await remainingTopics()).toHaveLength(3);
    });

    test('purge deletes the selected dead letters up to the limit', async () => {
      const purged = await json('purge', ...ofTags(), '--limit', '1', '--yes');
      expect(purged).toEqual({ dryRun: false, purged: 1 });
      expect(await remainingTopics()).toEqual([topic('tag'), topic('user')]);
    });

    test('show names the operator and the time of a purge by id', async () => {
      await expectExit(0, /^1 dead letter deleted$/, 'purge', second, '--yes');
      expect(await remainingTopics()).toEqual([topic('tag'), topic('user')]);
      await expectExit(1, / purged the dead letter .*\(unknown_type\) at 20/, 'show', second);
      await expectExit(1, /^0 dead letters deleted; not found: 1 id$/, 'purge', second, '--yes');
    });

    test('purge --all deletes every dead letter', async () => {
      await expectExit(0, /^3 dead letters deleted$/, 'purge', '--all', '--yes');
      await expectExit(0, /^no dead letters$/, 'list');
      await expectExit(0, /^no dead letter matches$/, 'list', '--key', 'tag_1');
    });
  });

  test('list names the topics if a topic is unknown', async () => {
    await expectExit(2, new RegExp(topic('ticket')), 'list', '--topic', 'support.orders');
  });

  test('show exits with code 1 for an unknown dead letter', async () => {
    await expectExit(1, /there is no dead letter/, 'show', `${topic('tag')}/0/99@1`);
  });
});
