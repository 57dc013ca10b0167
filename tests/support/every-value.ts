type Place = { path: string; value: unknown; replace: (other: unknown) => unknown };

/** A value and each value in it. `replace` returns the whole with another value in that place. */
export function* everyValue(
  value: unknown,
  path: string,
  replace: Place['replace'] = (other) => other,
): Generator<Place> {
  yield { path, value, replace };
  if (typeof value !== 'object' || value === null) return;
  for (const [name, field] of Object.entries(value)) {
    const inside = (other: unknown) =>
      replace(Array.isArray(value) ? value.with(Number(name), other) : { ...value, [name]: other });
    yield* everyValue(field, `${path}.${name}`, inside);
  }
}
