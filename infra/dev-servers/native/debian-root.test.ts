import { findDebianMirror } from './debian-root.ts';

const vendor = 'Packages Vendor bookworm main https://vendor.example/ /etc/apt/sources.list.d/vendor.list:1';
const of = (suite: string, uri: string) => `Packages Debian ${suite} main ${uri} /etc/apt/debian.sources:1`;
const mirror = (...targets: string[]) => findDebianMirror(targets.join('\n'), 'bookworm');

test("the machine's own Debian mirror comes after other vendors, and is not the security archive", () => {
  const security = of('bookworm-security', 'http://mirror.example/debian-security/');
  expect(mirror(vendor, security, of('bookworm', 'http://mirror.example/debian/'))).toEqual({
    uri: 'http://mirror.example/debian/',
    source: '/etc/apt/debian.sources',
  });
});

test.each([
  ['a vendor that uses the same suite and component', vendor],
  ['a mirror of another release', of('bullseye', 'http://mirror.example/debian/')],
  ['translations', of('bookworm', 'http://mirror.example/debian/').replace('Packages', 'Translations')],
])('%s are no Debian mirror', (_, target) => {
  expect(mirror(target)).toBeUndefined();
});
