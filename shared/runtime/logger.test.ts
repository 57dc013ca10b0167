import { scrubbed } from './logger.ts';

describe('a log line', () => {
  it.each([
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
});
