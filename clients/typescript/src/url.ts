type Value = string | number | boolean | Date;

/**
 * Returns the URL of a path such as `/v1/tickets/{id}` with its id and query. Omits undefined values, repeats the name
 * for a list, and writes `updatedAt: { gte }` as `updatedAt[gte]`.
 */
export function requestUrl(baseUrl: string, path: string, id: string | null, query: object): string {
  const search = new URLSearchParams(pairsOf(query)).toString();
  const filled = id === null ? path : path.replace('{id}', segment(id));
  return `${baseUrl}${filled}${search && `?${search}`}`;
}

function pairsOf(query: object): [string, string][] {
  return Object.entries(query).flatMap(([name, value]: [string, unknown]) => {
    if (value === undefined) return [];
    if (Array.isArray(value) && value.length === 0)
      throw new TypeError(`${name} must not be empty: omit it to leave out the filter`);
    if (Array.isArray(value))
      return value.map((item): [string, string] => [name, textOf(name, item as Value)]);
    if (typeof value !== 'object' || value === null || isDate(value)) {
      return [[name, textOf(name, value as Value)]];
    }
    const bounds = Object.entries(value).map(
      ([bound, instant]) => [`${name}[${bound}]`, instant as unknown] as const,
    );
    return pairsOf(Object.fromEntries(bounds));
  });
}

/** `instanceof` would not find a `Date` of another realm, such as a copy by `structuredClone` in Jest. */
const isDate = (value: unknown): value is Date => Object.prototype.toString.call(value) === '[object Date]';

function textOf(name: string, value: Value): string {
  if (!isDate(value)) return String(value);
  if (Number.isNaN(value.getTime())) throw new TypeError(`${name} must be a valid Date`);
  // Responses show seconds. Without the fraction, a bound covers the whole second that a response shows.
  return value.toISOString().replace('.000Z', 'Z');
}

/** Encodes an id. Refuses `.` and `..`, by which a URL leads to a parent, and an empty id, which is another path. */
function segment(id: string): string {
  if (typeof id !== 'string' || /^\.{0,2}$/.test(id)) throw new TypeError('id must be the id of a resource');
  return encodeURIComponent(id);
}
