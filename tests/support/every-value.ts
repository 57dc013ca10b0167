/** `path` names the fields from the root to the value, as in `data.tags.0`. */
type Place = { path: string; value: unknown; replace: (other: unknown) => unknown };

/**
 * Yields a value and each value in it. `replace` returns a copy of the root in which `other` replaces this value.
 */
export function* everyValue(
  value: unknown,
  path: string,
  replace: Place['replace'] = (other) => other,
): Generator<Place> {
  yield { path, value, replace };
  if (typeof value !== 'object' || value === null) return;
  for (const [name, field] of Object.entries(value)) {
    const replaceField = (other: unknown) =>
      replace(Array.isArray(value) ? value.with(Number(name), other) : { ...value, [name]: other });
    yield* everyValue(field, `${path}.${name}`, replaceField);
  }
}
