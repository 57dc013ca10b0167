type Value = string | number | boolean | Date;

/**
 * Returns the URL of a path such as `/v1/tickets/{id}` with its id and query. Omits undefined values, repeats the name
 * for a list, and writes `updatedAt: { gte }` as `updatedAt[gte]`.
 */
export function requestUrl(baseUrl: string, path: string, id: string | null, query: object): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) addParameter(parameters, name, value);
  const search = parameters.toString();
  const filled = id === null ? path : path.replace('{id}', segment(id));
  return search === '' ? `${baseUrl}${filled}` : `${baseUrl}${filled}?${search}`;
}

function addParameter(parameters: URLSearchParams, name: string, value: unknown): void {
  if (value === undefined) return;
  if (Array.isArray(value)) {
    if (value.length === 0) throw new TypeError(`${name} must not be empty: omit it to leave out the filter`);
    for (const item of value) parameters.append(name, textOf(name, item as Value));
    return;
  }
  const hasBounds = typeof value === 'object' && value !== null && !isDate(value);
  if (!hasBounds) {
    parameters.append(name, textOf(name, value as Value));
    return;
  }
  for (const [bound, instant] of Object.entries(value))
    addParameter(parameters, `${name}[${bound}]`, instant);
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
