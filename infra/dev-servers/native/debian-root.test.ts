import { findDebianMirror } from './debian-root.ts';

const vendorTarget =
  'Packages Vendor bookworm main https://vendor.example/ /etc/apt/sources.list.d/vendor.list:1';
const debianTarget = (suite: string, uri: string) =>
  `Packages Debian ${suite} main ${uri} /etc/apt/debian.sources:1`;
const find = (...targets: string[]) => findDebianMirror(targets.join('\n'), 'bookworm');

test("finds the machine's Debian mirror after other vendors and the security archive", () => {
  const security = debianTarget('bookworm-security', 'http://mirror.example/debian-security/');
  expect(find(vendorTarget, security, debianTarget('bookworm', 'http://mirror.example/debian/'))).toEqual({
    uri: 'http://mirror.example/debian/',
    source: '/etc/apt/debian.sources',
  });
});

test.each([
  ['a vendor that uses the same suite and component', vendorTarget],
  ['a mirror of another release', debianTarget('bullseye', 'http://mirror.example/debian/')],
  [
    'an index of translations',
    debianTarget('bookworm', 'http://mirror.example/debian/').replace('Packages', 'Translations'),
  ],
])('%s is not a Debian mirror', (_, target) => {
  expect(find(target)).toBeUndefined();
});
