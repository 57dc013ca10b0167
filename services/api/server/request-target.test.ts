import { originForm, targetLengthMax } from './request-target.ts';

describe('a request target', () => {
  test.each([
    ['/v1/tickets?limit=1', '/v1/tickets?limit=1'],
    ['http://api.example.com/v1/tickets?a=b', '/v1/tickets?a=b'],
    ['HTTPS://api.example.com', '/'],
    ['http://[bad:99999999/a', '/a'],
    ['/v1/tickets#part', '/v1/tickets'],
    ['*', '*'],
    ['v1', '/v1'],
    ['/v1/\u00e9', '/v1/%C3%A9'],
  ])('%s is rewritten to %s', (target, expected) => {
    expect(originForm(target)).toBe(expected);
  });

  test('that is too long stays too long, and costs no more than the longest one', () => {
    const escaped = originForm(`/${'\u00ff'.repeat(32_000)}`);
    expect(escaped).toHaveLength(1 + targetLengthMax * '%C3%BF'.length);
    expect(originForm(`/${'a'.repeat(targetLengthMax)}`).length).toBeGreaterThan(targetLengthMax);
    const longest = `/${'a'.repeat(targetLengthMax - 1)}`;
    expect(originForm(`http://api.example.com${longest}`)).toBe(longest);
  });
});
