import { curlLine, shellLine, shorten } from './requests.ts';

const access = { baseUrl: 'https://localhost:8443', authority: '/tmp/a b/ca.pem', token: 'svc_live_1' };

test('a curl line can be pasted into a shell', () => {
  expect(curlLine(access, '/v1/tickets?status=open&limit=2')).toBe(
    "curl --cacert '/tmp/a b/ca.pem' -H 'Authorization: Bearer svc_live_1' 'https://localhost:8443/v1/tickets?status=open&limit=2'",
  );
  expect(curlLine(access, '/v1/channels')).toContain(' https://localhost:8443/v1/channels');
  expect(shellLine(['export', 'A=one:1,two:2', 'B=b c'])).toBe("export A=one:1,two:2 'B=b c'");
});

test('a long response is cut, and the number of omitted lines is printed', () => {
  expect(shorten('{"a":[1,2,3]}', 3)).toBe('{\n  "a": [\n    1,\n  … 4 more lines');
  expect(shorten('{"a":1}', 3)).toBe('{\n  "a": 1\n}');
  expect(shorten('no JSON', 3)).toBe('no JSON');
});
