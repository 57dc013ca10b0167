import type { IncomingMessage } from 'node:http';

const scheme = 'Bearer ';
const tokenLengthMax = 512;

/** The token in the `Authorization` header; null without a token. */
export const tokenOf = ({ headers: { authorization } }: Pick<IncomingMessage, 'headers'>): string | null =>
  authorization?.startsWith(scheme) ? authorization.slice(scheme.length) : null;

/** The shape of the tokens of this service. */
export const tokenShape = (keyPrefix: string): RegExp => new RegExp(`^${keyPrefix}_(live|test)_[!-~]+$`);

export const isToken = (shape: RegExp, token: string): boolean =>
  token.length <= tokenLengthMax && shape.test(token);
