import { given, living } from '../../../tests/support/example-join.ts';

test('a form embeds the channel that it routes to', () => {
  const form = { title: 'Ask us', fields: [], allowedDomains: [], routesToChannelId: 'chan_1' };
  const { joined } = given(living('channel', { id: 'chan_1', name: 'Help' })).whenJoined('channel', {
    id: 'chan_2',
    type: 'form',
    form,
  });
  expect(joined).toEqual({ agent: null, routesTo: { id: 'chan_1', name: 'Help' } });
});
