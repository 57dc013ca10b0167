type Value = string | number | boolean | Date;

/**
 * Returns the URL of a path such as `/v1/tickets/{id}` with its id and query. Omits undefined values, repeats the name for
 * a list, and writes `updatedAt: { gte }` as `updatedAt[gte]`.
 */
export function requestUrl(
  baseUrl: string,
  path: string,
  id: string | null,
  query: Readonly<Record<string, unknown>>,
): string {
  const search = new URLSearchParams(pairsOf(query)).toString();
  const filled = id === null ? path : path.replace('{id}', segment(id));
  return `${baseUrl}${filled}${search && `?${search}`}`;
}

function pairsOf(query: Readonly<Record<string, unknown>>): [string, string][] {
  return Object.entries(query).flatMap(([name, value]) => {
    if (value === undefined) return [];
    if (Array.isArray(value)) return value.map((each): [string, string] => [name, textOf(each as Value)]);
    if (typeof value !== 'object' || value === null || value instanceof Date) {
      return [[name, textOf(value as Value)]];
    }
    const bounds = Object.entries(value).map(([bound, of]) => [`${name}[${bound}]`, of as unknown] as const);
    return pairsOf(Object.fromEntries(bounds));
  });
}

const textOf = (value: Value) => (value instanceof Date ? value.toISOString() : String(value));

/** Refuses `.` and `..`, which URLs treat as path segments, and an empty id, which is another path. */
function segment(id: string): string {
  if (typeof id !== 'string' || /^\.{0,2}$/.test(id)) throw new TypeError('id must be the id of a resource');
  return encodeURIComponent(id);
}
