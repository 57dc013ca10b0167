import { readSkip } from '../../shared/control/ledger-store.ts';
import { progressOf } from '../../shared/control/progress.ts';
import { createAnsweringProxy } from '../support/answering-proxy.ts';
import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { containing, matching } from '../support/matchers.ts';
import { runCli } from '../support/run-cli.ts';
import { proxiedUrl } from '../support/store-proxy.ts';
import { useOpened } from '../support/use-opened.ts';
import { useProjector } from '../support/use-projector.ts';

describe('a partition that is stuck at a record', () => {
  const projector = useProjector({ projectors: 0 });
  const { environment, topic, publish, applied, find, deadLetters, start, stop } = projector;
  const proxied = useOpened(async () => {
    const proxy = createAnsweringProxy(environment.config.MONGODB_URL);
    const settings = { MONGODB_URL: proxiedUrl(await proxy.listen()) };
    const close = async () => {
      await stop();
      await proxy.close();
    };
    return { state: proxy.state, settings, close };
  });
  const cli = (...args: string[]) =>
    runCli({ ...environment.variables, ...proxied.settings }, ['dead-letters', ...args]);
  const place = (offset: number) => `${topic('tag')}/0/${offset}`;
  const skip = (offset: number, ...args: string[]) =>
    cli('skip', place(offset), '--why', 'stops release 1', '--yes', ...args);
  const storedSkip = () => readSkip(environment.control, { topic: topic('tag'), partition: 0, offset: 2 });

  beforeAll(async () => {
    const tag = (id: string) => created('tag', id);
    await publish(tag('tag_1'));
    await start({ settings: proxied.settings });
    await applied();
    proxied.state.answer = ({ name, command }) => {
      const isAboutTags = /^(find|insert|update) tags$/.test(name);
      if (!isAboutTags || !JSON.stringify(command).includes('tag_bad')) return null;
      // The projector retries, because this error may pass.
      return { code: 8, errmsg: 'a page of the file is damaged' };
    };
    await publish(tag('tag_2'), tag('tag_bad'), tag('tag_3'));
    await eventually(async () => {
      const saved = await progressOf(environment.control).findOne({ topic: topic('tag') });
      return saved?.end === 4 && saved.saved?.cause === 'failing';
    });
  });

  test('applies no record after that record', async () => {
    expect(await find('tag', 'tag_3')).toBeNull();
  });

  test('refuses to skip a record that is applied or not in the log', async () => {
    expect(await skip(0)).toMatchObject({ code: 1, errors: containing('is applied already') });
    expect(await skip(4)).toMatchObject({ code: 1, errors: containing('ends before offset 4') });
    expect((await cli('skip', 'unknown/0/1', '--why', 'x')).code).toBe(2);
    expect((await cli('skip', `${topic('tag')}/7/1`, '--why', 'x')).code).toBe(1);
  });

  test('skips no record without a confirmation or in a dry run', async () => {
    expect((await cli('skip', place(2), '--why', 'x')).code).toBe(2);
    expect((await skip(2, '--dry-run')).text).toContain('would be skipped for generation 1');
    expect(await storedSkip()).toBeNull();
  });

  describe('after a skip and a restart of the projector', () => {
    beforeAll(async () => {
      await stop();
      expect((await skip(2)).code).toBe(0);
      expect((await skip(2)).text).toContain('was skipped at');
      await start({ settings: proxied.settings });
      await applied();
    });

    test('the partition applies the other records', async () => {
      for (const id of ['tag_2', 'tag_3']) expect(await find('tag', id)).not.toBeNull();
      expect(await find('tag', 'tag_bad')).toBeNull();
    });

    test('the skipped record is a dead letter that names the operator and the reason', async () => {
      expect(await deadLetters()).toMatchObject([
        {
          offset: 2,
          reason: 'skipped',
          detail: matching(/^skipped by .+: stops release 1$/),
          versioned: { id: 'tag_bad', version: 1 },
        },
      ]);
    });

    test('a repeated skip reports the first skip', async () => {
      expect((await skip(2)).text).toContain('was skipped at');
    });

    test('a redrive applies the skipped record once MongoDB accepts it', async () => {
      proxied.state.answer = () => null;
      expect((await cli('redrive', '--reason', 'skipped')).text).toContain('1 dead letter: 1 applied');
      expect(await find('tag', 'tag_bad')).not.toBeNull();
    });
  });
});
