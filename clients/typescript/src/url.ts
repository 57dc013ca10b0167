type Value = string | number | boolean | Date;

/** `/v1/tickets/{id}` with its id and query. What is undefined is left out; a list is its name repeated. */
export function requestUrl(
  baseUrl: string,
  path: string,
  id: string | null,
  query: Readonly<Record<string, unknown>>,
): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value])
      .filter((each) => each !== undefined)
      .map((each): [string, string] => [name, textOf(each as Value)]),
  );
  const search = new URLSearchParams(pairs).toString();
  const filled = id === null ? path : path.replace('{id}', segment(id));
  return `${baseUrl}${filled}${search && `?${search}`}`;
}

const textOf = (value: Value) => (value instanceof Date ? value.toISOString() : String(value));

/** Dots alone would be taken for a step in the path, and nothing for another path. */
function segment(id: string): string {
  if (typeof id !== 'string' || /^\.{0,2}$/.test(id)) throw new TypeError('id must be the id of a resource');
  return encodeURIComponent(id);
}
