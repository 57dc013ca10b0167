import { readSkip } from '../../shared/control/ledger-store.ts';
import { progressOf } from '../../shared/control/progress.ts';
import { resources } from '../../shared/documents/resources.ts';
import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { useProjector } from '../support/use-projector.ts';

describe('a partition that stands still at a record', () => {
  const projector = useProjector({ projectors: 0 });
  const { environment, topic, publish, applied, find, deadLetters, start, stop } = projector;
  const cli = (...args: string[]) => projector.cli('dead-letters', ...args);
  const tag = (id: string, version = 1) => created('tag', id, {}, version);
  const place = (offset: number) => `${topic('tag')}/0/${offset}`;
  const skip = (offset: number, ...args: string[]) =>
    cli('skip', place(offset), '--why', 'stops release 1', '--yes', ...args);
  const progress = () => progressOf(environment.control).findOne({ topic: topic('tag') });

  /** The code fails for a record, with an error that counts as one of a server: its batch is retried for ever. */
  const plant = () => {
    const { sortKeys } = resources.tag;
    return jest.spyOn(resources.tag, 'sortKeys').mockImplementation((state) => {
      if (state.id === 'tag_bad') throw Object.assign(new Error('write'), { code: 'ETIMEDOUT' });
      return sortKeys(state);
    });
  };

  test('goes on once an operator has skipped the record, also after a restart', async () => {
    const planted = plant();
    await publish(tag('tag_1'));
    await start();
    await applied();
    await publish(tag('tag_2'), tag('tag_bad'), tag('tag_3'));
    await eventually(async () => {
      const saved = await progress();
      return saved?.end === 4 && saved.saved?.cause === 'failing';
    });
    expect(await find('tag', 'tag_3')).toBeNull();
    // given refused places, and a dry run, which change nothing
    expect(await skip(0)).toMatchObject({
      code: 1,
      errors: expect.stringContaining('is applied already') as string,
    });
    expect(await skip(4)).toMatchObject({
      code: 1,
      errors: expect.stringContaining('ends before offset 4') as string,
    });
    expect(await cli('skip', 'unknown/0/1', '--why', 'x')).toMatchObject({ code: 2 });
    expect(await cli('skip', `${topic('tag')}/7/1`, '--why', 'x')).toMatchObject({ code: 1 });
    // and without a terminal, `--yes` is needed
    expect(await cli('skip', place(2), '--why', 'x')).toMatchObject({ code: 2 });
    expect((await skip(2, '--dry-run')).text).toContain('would be skipped for generation 1');
    const skipOf = () => readSkip(environment.control, { topic: topic('tag'), partition: 0, offset: 2 });
    expect(await skipOf()).toBeNull();
    // when the projector restarts after the record is skipped
    await stop();
    expect(await skip(2)).toMatchObject({ code: 0 });
    expect((await skip(2)).text).toContain('was skipped at');
    await start();
    await applied();
    // then it alone is a dead letter, which names the operator and the reason
    for (const id of ['tag_2', 'tag_3']) expect(await find('tag', id)).not.toBeNull();
    expect(await find('tag', 'tag_bad')).toBeNull();
    expect(await deadLetters()).toMatchObject([
      {
        offset: 2,
        reason: 'skipped',
        detail: expect.stringMatching(/^skipped by .+: stops release 1$/) as string,
        versioned: { id: 'tag_bad', version: 1 },
      },
    ]);
    expect((await skip(2)).text).toContain('was skipped at');
    // and it is re-driven once the cause is fixed
    planted.mockRestore();
    expect((await cli('redrive', '--reason', 'skipped')).text).toContain('1 dead letter: 1 applied');
    expect(await find('tag', 'tag_bad')).not.toBeNull();
  });
});
