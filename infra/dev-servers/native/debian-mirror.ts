/** One mirror that apt's sources name, with the fields that tell its vendor. */
type Entry = { uri: string; suites: string[]; components: string[]; signedBy: string };

/** Debian's own mirror, and the keyring that signs it. */
export type Mirror = { uri: string; keyring: string };

const debianKeyring = '/usr/share/keyrings/debian-archive-keyring.gpg';

/**
 * Debian's mirror as this machine's apt sources name it, so that a local mirror stays in use. It is recognized by its
 * keyring, its `-updates` suite and a path that ends in /debian, because entries of other vendors may use Debian's
 * suite names. Undefined if no entry has any of these.
 */
export function debianMirror(
  sources: { name: string; text: string }[],
  codename: string,
): Mirror | undefined {
  const entries = sources.flatMap(({ name, text }) =>
    name.endsWith('.sources') ? stanzas(text) : oneLiners(text),
  );
  const scored = entries
    .filter(({ suites, components }) => suites.includes(codename) && components.includes('main'))
    .map((entry) => ({ entry, score: score(entry, entries, codename) }))
    .filter((candidate) => candidate.score > 0)
    .sort((a, b) => b.score - a.score);
  const best = scored[0]?.entry;
  if (best === undefined) return undefined;
  return { uri: best.uri, keyring: best.signedBy.startsWith('/') ? best.signedBy : debianKeyring };
}

function score(entry: Entry, entries: Entry[], codename: string): number {
  const updates = entries.some(
    ({ uri, suites }) => uri === entry.uri && suites.includes(`${codename}-updates`),
  );
  return (
    (/\/debian-archive[^/]*$/.test(entry.signedBy) ? 4 : 0) +
    (updates ? 2 : 0) +
    (/\/debian\/?$/.test(entry.uri) ? 1 : 0)
  );
}

/** Parses the format of `*.sources`: stanzas of fields, continuation lines indented. */
function stanzas(text: string): Entry[] {
  const uncommented = text.replace(/^#.*\n?/gm, '');
  return uncommented.split(/\n\s*\n/).flatMap((stanza) => {
    const field = (name: string) => {
      const found = new RegExp(`^${name}:(.*(?:\\n[ \\t].*)*)`, 'im').exec(stanza);
      return (found?.[1] ?? '').split(/\s+/).filter(Boolean);
    };
    if (!field('Types').includes('deb') || field('Enabled')[0] === 'no') return [];
    const rest = {
      suites: field('Suites'),
      components: field('Components'),
      signedBy: field('Signed-By')[0] ?? '',
    };
    return field('URIs').map((uri) => ({ uri, ...rest }));
  });
}

/** Parses the format of `*.list`: `deb [options] uri suite component…`. */
function oneLiners(text: string): Entry[] {
  return text.split('\n').flatMap((line) => {
    const found = /^\s*deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s+([^#]*)/.exec(line);
    if (found === null) return [];
    const [, options = '', uri = '', suite = '', components = ''] = found;
    const signedBy = /signed-by=(\S+)/.exec(options)?.[1] ?? '';
    return [{ uri, suites: [suite], components: components.split(/\s+/).filter(Boolean), signedBy }];
  });
}
