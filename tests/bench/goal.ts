/** A figure and its bound. The benchmark reports whether the figure meets it; nothing fails if it does not. */
export type Goal = { goal: string; figure: number | null; unit: string; met: boolean | null };

export const atLeast = (name: string, bound: number, unit: string, figure: number | null): Goal => ({
  goal: `${name}: at least ${bound}${unit}`,
  figure,
  unit,
  met: figure === null ? null : figure >= bound,
});

export const atMost = (name: string, bound: number, unit: string, figure: number | null): Goal => ({
  goal: `${name}: at most ${bound}${unit}`,
  figure,
  unit,
  met: figure === null ? null : figure <= bound,
});
