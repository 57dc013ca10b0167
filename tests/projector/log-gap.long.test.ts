import { created } from '../support/entities.ts';
import type { Service } from '../../infra/service.ts';
import { useProjector } from '../support/use-projector.ts';

describe('records that are deleted from the log before they were applied', () => {
  const { publish, applied, find, startProcess, deleteRecords, recreateTopic } = useProjector({
    each: true,
    projectors: 0,
  });

  const publishTags = async (...ids: string[]) => {
    for (const id of ids) await publish(created('tag', id));
  };
  const fatal = ({ log }: Service) => JSON.stringify(log.find(({ level }) => level === 'fatal'));

  /** Starts a projector; resolves once it has applied every published record. */
  const started = async () => {
    const projector = startProcess();
    await applied();
    return projector;
  };
  const deleted = async () => {
    await publishTags('tag_3', 'tag_4', 'tag_5');
    await deleteRecords('tag', 4);
  };
  const recreated = async () => {
    await recreateTopic('tag');
    await publishTags('tag_3', 'tag_4', 'tag_5');
  };
  const losses: [string, () => Promise<void>, stopped: RegExp, running: RegExp][] = [
    [
      'they are gone',
      deleted,
      /tags\/0: the records from offset 2 to 3 are gone/,
      // The first may be fetched already.
      /tags\/0: the records from offset \d to 4 are gone/,
    ],
    [
      'the topic was recreated with more records than were applied',
      recreated,
      /tags\/0: .* applied the log up to 2, but of another topic of this name/,
      /tags\/0: .*another topic of this name/,
    ],
  ];

  test.each(losses)(
    'stop the next projector with an error that says that %s; nothing is skipped',
    async (_, lose, says) => {
      await publishTags('tag_1', 'tag_2');
      expect(await (await started()).stop()).toBe(0);
      await lose();
      const next = startProcess();
      expect(await next.exited).toBe(1);
      expect(fatal(next)).toMatch(says);
      expect(await find('tag', 'tag_5')).toBeNull();
    },
  );

  test.each(losses)(
    'stop a running projector too if %s, even if no record follows',
    async (_, lose, _stopped, says) => {
      await publishTags('tag_1', 'tag_2');
      const projector = await started();
      projector.child.kill('SIGSTOP');
      await lose();
      // The log ends where the deleted records end: no record is left to be fetched.
      if (lose === deleted) await deleteRecords('tag', 5);
      projector.child.kill('SIGCONT');
      expect(await projector.exited).toBe(1);
      expect(fatal(projector)).toMatch(says);
    },
  );
});
