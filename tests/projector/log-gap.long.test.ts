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

  test('stop the next projector with an error if the topic was created again with more records; nothing is skipped', async () => {
    await publishTags('tag_1', 'tag_2');
    expect(await (await started()).stop()).toBe(0);
    await recreateTopic('tag');
    await publishTags('tag_3', 'tag_4', 'tag_5');
    const next = startProcess();
    expect(await next.exited).toBe(1);
    expect(fatal(next)).toMatch(/tags\/0: .* applied the log up to 2, but of another topic of this name/);
    expect(await find('tag', 'tag_5')).toBeNull();
  });

  test('stop a running projector too, even if no record follows', async () => {
    await publishTags('tag_1', 'tag_2');
    const projector = await started();
    projector.child.kill('SIGSTOP');
    await publishTags('tag_3', 'tag_4', 'tag_5');
    // The log ends where the deleted records end: no record is left to be fetched.
    await deleteRecords('tag', 5);
    projector.child.kill('SIGCONT');
    expect(await projector.exited).toBe(1);
    // The first may be fetched already.
    expect(fatal(projector)).toMatch(/tags\/0: the records from offset \d to 4 are gone/);
  });
});
