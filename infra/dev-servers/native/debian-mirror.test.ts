import { debianMirror } from './debian-mirror.ts';

const vendor = `Types: deb
URIs: https://vendor.example/node_20.x
Suites: nodistro
Components: main
Signed-By: /usr/share/keyrings/vendor.gpg
`;

const debian = `Types: deb
# a comment between the fields
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
`;

const mirror = (sources: Record<string, string>) =>
  debianMirror(
    Object.entries(sources).map(([name, text]) => ({ name, text })),
    'bookworm',
  )?.uri;

describe("the machine's own Debian mirror", () => {
  test('is found after other vendors, and is not the security archive', () => {
    expect(mirror({ 'a.sources': vendor, 'debian.sources': debian })).toBe('http://mirror.example/debian');
  });

  test('differs from a vendor that uses the same suite and component', () => {
    const same = 'deb [signed-by=/usr/share/keyrings/v.gpg] https://vendor.example bookworm main';
    expect(mirror({ 'a.list': same, 'debian.sources': debian })).toBe('http://mirror.example/debian');
    expect(mirror({ 'a.list': same })).toBeUndefined();
  });

  test('is read from one-line entries, with and without options', () => {
    const lines =
      '# deb http://off.example/debian bookworm main\ndeb http://on.example/debian bookworm main contrib';
    expect(mirror({ 'sources.list': lines })).toBe('http://on.example/debian');
    const options =
      'deb [arch=amd64 signed-by=/k/debian-archive-keyring.gpg] http://x.example/any bookworm main';
    expect(mirror({ 'sources.list': options })).toBe('http://x.example/any');
  });

  test('is not an entry that is disabled, has only sources or belongs to another release', () => {
    expect(
      mirror({ 'd.sources': debian.replaceAll('Types: deb\n', 'Types: deb\nEnabled: no\n') }),
    ).toBeUndefined();
    expect(mirror({ 'd.sources': debian.replaceAll('Types: deb\n', 'Types: deb-src\n') })).toBeUndefined();
    expect(mirror({ 'd.sources': debian.replaceAll('bookworm', 'bullseye') })).toBeUndefined();
  });

  test('comes with the keyring of its entry, or with the archive’s default keyring', () => {
    const text = 'deb http://on.example/debian bookworm main';
    expect(debianMirror([{ name: 'sources.list', text }], 'bookworm')?.keyring).toBe(
      '/usr/share/keyrings/debian-archive-keyring.gpg',
    );
  });
});
