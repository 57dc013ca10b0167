import { StackContainer } from './containers.ts';

test('a server of the stack has limits and publishes its ports on loopback only', () => {
  const container = new StackContainer('kafka', 'run').withExposedPorts(
    { container: 9092, host: 1234 },
    27017,
  );
  expect(container.limits).toEqual({
    Memory: 1.5 * 1024 ** 3,
    PidsLimit: 512,
    PortBindings: {
      '9092/tcp': [{ HostIp: '127.0.0.1', HostPort: '1234' }],
      '27017/tcp': [{ HostIp: '127.0.0.1', HostPort: '0' }],
    },
  });
});
