/** A bound that a figure is held against. The benchmark reports it; nothing fails on it. */
export type Goal = { goal: string; figure: number | null; unit: string; met: boolean | null };

export const atLeast = (what: string, bound: number, unit: string, figure: number | null): Goal => ({
  goal: `${what}: at least ${bound}${unit}`,
  figure,
  unit,
  met: figure === null ? null : figure >= bound,
});

export const atMost = (what: string, bound: number, unit: string, figure: number | null): Goal => ({
  goal: `${what}: at most ${bound}${unit}`,
  figure,
  unit,
  met: figure === null ? null : figure <= bound,
});
