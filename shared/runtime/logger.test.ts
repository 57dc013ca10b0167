import { loggedError, scrubbed } from './logger.ts';

describe('a log line', () => {
  test.each([
    ['{"msg":"refused svc_live_abc~123"}', '{"msg":"refused [redacted]"}'],
    ['{"url":"/v1/x?key=acme-1_test_a.b&limit=1"}', '{"url":"/v1/x?key=[redacted]"}'],
    [
      '{"error":{"message":"dup key: \\"ada.b+c@mail.example.com\\""}}',
      '{"error":{"message":"dup key: \\"[redacted]\\""}}',
    ],
    [
      '{"requestId":"req_01K3QZ8M4TFK2V6W8X0Y2Z4A6B","keyId":"key_1"}',
      '{"requestId":"req_01K3QZ8M4TFK2V6W8X0Y2Z4A6B","keyId":"key_1"}',
    ],
  ])('%s is written as %s', (line, expected) => {
    expect(scrubbed(line)).toBe(expected);
  });

  test.each(['\n', '\t', '\b', '\u001b', '\\', '"', '\\n', 'é '])(
    'stays JSON when %j stands before a secret, and has no secret',
    (before) => {
      const fields = { orgId: `org_${before}ann@example.com`, keyId: `key_${before}svc_live_abcdefgh` };
      const kept = /\w$/.test(before) ? before.slice(0, -1) : before;
      expect(JSON.parse(scrubbed(JSON.stringify(fields)))).toEqual({
        orgId: `org_${kept}[redacted]`,
        keyId: `key_${kept}[redacted]`,
      });
    },
  );
});

describe('an error in a log line', () => {
  test('contains all codes of a refused bulk write, and none of its documents', () => {
    const op = { u: { $set: { joined: { requester: { name: 'Tariq Hansen' } } } } };
    const writeErrors = [11_000, 40, 11_000].map((code) => ({ code, op }));
    const error = Object.assign(new Error('duplicate key'), {
      code: 11_000,
      writeErrors,
      errorResponse: { writeErrors },
    });
    expect(JSON.stringify(loggedError(error))).not.toContain('Tariq');
    expect(loggedError(error)).toMatchObject({
      type: 'Error',
      message: 'duplicate key',
      code: 11_000,
      refused: { 11000: 2, 40: 1 },
    });
  });

  test('has the message of each cause once: an error with a fix repeats the message of its cause', () => {
    const cause = new Error('code 86', { cause: new Error('the index exists') });
    const message = (text: string) =>
      (loggedError(new Error(text, { cause })) as { message: string }).message;
    expect(message('indexes')).toBe('indexes: code 86: the index exists');
    expect(message('code 86. Drop the index')).toBe('code 86. Drop the index: the index exists');
  });

  test('an error of several connection attempts names each attempt', () => {
    const error = new AggregateError([new Error('connect ECONNREFUSED ::1'), new Error('timed out')]);
    expect(loggedError(error)).toMatchObject({
      errors: [{ message: 'connect ECONNREFUSED ::1' }, { message: 'timed out' }],
    });
  });
});
