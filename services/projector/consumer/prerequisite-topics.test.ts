import { createPositions } from './positions.ts';
import { createPrerequisiteWait } from './prerequisite-topics.ts';

/** A partition of `tickets`, whose documents refer to `contacts`, under a clock that goes on when it is told. */
function given(contacts: { position?: number; end?: number } = { end: 1_000 }) {
  let nowMs = 0;
  const positions = createPositions(() => nowMs);
  positions.report('contacts/0', contacts);
  const asked: string[] = [];
  const prerequisites = createPrerequisiteWait(positions, (topic) => {
    asked.push(topic);
    return topic === 'tickets' ? ['contacts'] : [];
  });
  let isOurs = true;
  /** Waits for a turn; does `during` at each poll, of which there are at most ten. Gives how many there were. */
  const wait = async (lag: number, during: (poll: number) => void = () => undefined, topic = 'tickets') => {
    let polls = 0;
    const onWait = () => {
      polls += 1;
      if (polls > 10) throw new Error('it waits for ever');
      during(polls);
    };
    await prerequisites.wait({ topic, lag }, () => isOurs, onWait);
    return polls;
  };
  return { positions, asked, wait, pass: (ms: number) => (nowMs += ms), lose: () => (isOurs = false) };
}

describe('a partition with a backlog', () => {
  it('waits until what its documents refer to has been applied', async () => {
    const { positions, wait } = given();
    const polls = await wait(200, (poll) => positions.report('contacts/0', { position: poll * 400 }));
    expect(polls).toBe(3);
  });

  it('waits for what was there as the wait began, not for what is published since', async () => {
    const { positions, wait } = given({ end: 1_000 });
    await wait(500, (poll) =>
      positions.report('contacts/0', { position: poll * 500, end: 1_000 + poll * 500 }),
    );
    // and its further steps do not wait for that either
    expect(await wait(300)).toBe(0);
  });

  it('waits anew where it had caught up in between', async () => {
    const { positions, wait } = given({ position: 1_000, end: 1_000 });
    expect(await wait(500)).toBe(0);
    positions.report('contacts/0', { end: 2_000 });
    expect(await wait(500)).toBe(0);
    expect(await wait(199)).toBe(0);
    expect(await wait(500, () => positions.report('contacts/0', { position: 2_000 }))).toBe(1);
  });

  it('does not wait for what does not move', async () => {
    const { wait, pass } = given();
    expect(await wait(500, () => pass(2_500))).toBe(2);
  });

  it('does not wait where its documents refer to nothing', async () => {
    const { wait, asked } = given();
    expect(await wait(500, undefined, 'contacts')).toBe(0);
    expect(asked).toEqual(['contacts']);
  });

  it('stops to wait when it is given to another', async () => {
    const { wait, lose } = given();
    expect(await wait(500, lose)).toBe(1);
  });
});

it('a partition that follows live never waits', async () => {
  const { wait, asked } = given();
  expect(await wait(199)).toBe(0);
  expect(asked).toEqual([]);
});
