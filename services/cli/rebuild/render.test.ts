import { renderSwitched } from './render.ts';

const switched = { number: 2, outcome: 'promoted' as const, checks: [], waiting: [] };

describe('the outcome of a promotion', () => {
  it('is that the generation is served, once every replica serves it', () => {
    expect(renderSwitched(switched)).toBe('generation 2 is served\n');
    expect(renderSwitched({ ...switched, outcome: 'was-active' })).toBe('generation 2 is served\n');
  });

  it('names the replicas that do not serve it yet', () => {
    const replica = {
      ...{ _id: 'a', host: 'api-1', pid: 41, release: '1.4.0' },
      ...{ generation: 1, versions: [2], at: new Date(0) },
    };
    const text = renderSwitched({ ...switched, waiting: [replica] });
    expect(text).toContain('generation 2 is active, but not served by every replica yet\n');
    expect(text).toContain(
      'the API replica on api-1, process 41, release 1.4.0, still serves generation 1: ',
    );
  });

  it('tells a condition that was accepted from one that holds, and from one that fails', () => {
    const checks = [
      { name: 'state', isMet: true, detail: 'ready' },
      { name: 'offsets', isMet: true, isAccepted: true as const, detail: '3 partitions lag' },
      { name: 'hold', isMet: false, detail: 'held' },
    ];
    expect(renderSwitched({ ...switched, outcome: 'refused', checks }).split('\n')).toEqual([
      'ok        state       ready',
      'accepted  offsets     3 partitions lag',
      'FAILED    hold        held',
      'generation 2 is not promoted',
      '',
    ]);
  });
});
