import { hostname, userInfo } from 'node:os';
import { operatorName } from './operator.ts';

const nameless = () => {
  throw Object.assign(new Error('uv_os_get_passwd returned ENOENT'), { code: 'ERR_SYSTEM_ERROR' });
};

test('is OPERATOR, or the system user, or the user id if the system has no name for it', () => {
  expect(operatorName('ann', nameless)).toBe('ann');
  expect(operatorName(undefined)).toBe(`${userInfo().username}@${hostname()}`);
  expect(operatorName(undefined, nameless)).toBe(`uid ${process.getuid?.()}@${hostname()}`);
});
