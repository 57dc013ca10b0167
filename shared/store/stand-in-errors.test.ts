import { causeInSqlState } from './stand-in-errors.ts';

/** The code that a store on PostgreSQL makes of a SQLSTATE. */
const packed = (sqlState: string): number =>
  [...sqlState].reduce((code, character, index) => code + (character.charCodeAt(0) - 48) * 64 ** index, 0);

describe('the cause of a failed write in a store on PostgreSQL', () => {
  test.each([
    ['40001', 'conflict'],
    ['40P01', 'conflict'],
    ['22003', 'refusal'],
    ['22P05', 'refusal'],
    ['54001', 'refusal'],
    ['57P01', null],
    ['XX001', null],
  ])('is read from SQLSTATE %s: %s', (sqlState, cause) => {
    expect(causeInSqlState(packed(sqlState))).toBe(cause);
  });

  // MongoDB numbers its assertions up to eight digits.
  test.each(['40', '22', '54'])('is not read from a code of MongoDB that ends like class %s', (sqlClass) => {
    const least = packed(sqlClass);
    for (let code = least; code < 16_000_000; code += 4_096) expect(causeInSqlState(code)).toBeNull();
  });
});
