import { containing } from '../../../tests/support/matchers.ts';
import { parseExpectation } from './expectations.ts';

describe('an expectation of differences', () => {
  test.each([
    ['ticket:joined.tags', { kind: 'ticket', field: 'joined.tags' }],
    ['ticket:joined.requester.name', { kind: 'ticket', field: 'joined.requester.name' }],
    ['channel:state.form', { kind: 'channel', field: 'state.form' }],
    ['message:state.content', { kind: 'message', field: 'state.content' }],
    ['*:state.title', { kind: '*', field: 'state.title' }],
    ['*:sort-key', { kind: '*', field: 'sort-key' }],
    ['ticket:byUpdated', { kind: 'ticket', field: 'byUpdated' }],
  ])('may be %s', (text, expectation) => {
    expect(parseExpectation(text)).toEqual(expectation);
  });

  test.each([
    ['tickets:state', 'one of these kinds: apiKey, contact'],
    ['ticket', 'It takes kind:field'],
    ['ticket:nonsense', 'nonsense is neither a class (missing, extra, state'],
    ['ticket:state.content', 'nor a field of ticket: orgId'],
    ['ticket:joined.tag', 'nor a field of ticket'],
    ['*:joined.nonsense', 'nor a field.'],
  ])('is refused if it is %s', (text, error) => {
    expect(parseExpectation(text)).toEqual({ error: containing(error) });
  });
});
