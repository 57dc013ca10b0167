import { given, living } from '../../../tests/support/example-join.ts';

test('a channel embeds its agent', () => {
  const { joined, refs } = given(living('agent', { id: 'agent_1', name: 'Robin' })).whenJoined('channel', {
    agentId: 'agent_1',
  });
  expect(joined).toEqual({ agent: { id: 'agent_1', name: 'Robin', disabled: false }, routesTo: null });
  expect(refs).toEqual(['agent:agent_1']);
});

test('a form embeds the channel that it routes to', () => {
  const form = { title: 'Ask us', fields: [], allowedDomains: [], routesToChannelId: 'chan_1' };
  const { joined } = given(living('channel', { id: 'chan_1', name: 'Help' })).whenJoined('channel', {
    id: 'chan_2',
    type: 'form',
    form,
  });
  expect(joined).toEqual({ agent: null, routesTo: { id: 'chan_1', name: 'Help' } });
});

test('a channel without an agent refers to nothing', () => {
  const { joined, refs, isPending } = given().whenJoined('channel');
  expect(joined).toEqual({ agent: null, routesTo: null });
  expect(refs).toEqual([]);
  expect(isPending).toBe(false);
});
