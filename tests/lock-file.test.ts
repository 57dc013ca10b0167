import { readFileSync } from 'node:fs';

type Package = { version?: string; optionalDependencies?: Record<string, string> };

/** Optional packages that a locked package names and the lock lacks, each with the package that names it. */
function lacking(packages: Record<string, Package>): string[] {
  return Object.entries(packages).flatMap(([path, { version = '', optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => !places(path, name).some((place) => place in packages))
      .map((name) => `${name}, named by ${path}@${version}`),
  );
}

/** Where Node would find a package for the one at `path`: in its own folder, then in each one above. */
const places = (path: string, name: string): string[] => {
  const state = `${path}/node_modules/${name}`.replace(/^\//, '');
  const above = path.lastIndexOf('/node_modules/');
  return path === '' ? [state] : [state, ...places(above === -1 ? '' : path.slice(0, above), name)];
};

test('package-lock.json holds every optional platform package that a locked package names', () => {
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, Package> };
  const faults = lacking(lock.packages).map(
    (what) => `${what}: pin an older version, all of whose platform packages are published`,
  );
  // `npm ci` of some npm versions refuses a lock that lacks one, even one of another platform.
  expect(faults).toEqual([]);
});

test('an optional package that is locked nowhere is named, one that is nested or hoisted is not', () => {
  const packages = {
    'node_modules/a': {
      version: '1.0.0',
      optionalDependencies: { 'a-linux': '1', 'a-mac': '1', 'a-win': '1' },
    },
    'node_modules/a-linux': {},
    'node_modules/a/node_modules/a-mac': {},
  };
  expect(lacking(packages)).toEqual(['a-win, named by node_modules/a@1.0.0']);
});
