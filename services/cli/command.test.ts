import { parseCommand } from './command.ts';

describe('the words of the operator', () => {
  const requestId = 'req_01HNZX8JGFACFA36RBXDHEQN6E';

  it('name a request to trace', () => {
    expect(parseCommand(['trace', requestId])).toEqual({ verb: 'trace', requestId, json: false });
    expect(parseCommand(['trace', requestId, '--json'])).toEqual({ verb: 'trace', requestId, json: true });
  });

  it.each([[], ['01HNZX8JGFACFA36RBXDHEQN6E'], ['req_1'], [`${requestId}0`], [requestId, requestId]])(
    'are at fault where %p stands for one request id',
    (...words) => {
      const command = parseCommand(['trace', ...words]);
      expect('fault' in command && command.fault).toContain('one request id');
    },
  );

  it('are at fault where an option goes with another verb', () => {
    expect(parseCommand(['trace', requestId, '--partitions', '3'])).toHaveProperty('fault');
    expect(parseCommand(['topics', 'create', '--json'])).toHaveProperty('fault');
  });
});
