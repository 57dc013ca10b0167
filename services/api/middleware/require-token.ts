import { isToken, tokenOf, tokenShape } from '../auth/bearer-token.ts';
import type { RefuseKey } from '../auth/refuse-key.ts';
import type { Middleware } from '../http/context.ts';

type RequireTokenDeps = {
  /** API keys begin with this prefix, then `_live_` or `_test_`. */
  keyPrefix: string;
  refuseKey: RefuseKey;
};

/**
 * Refuses a request without a token in the `Authorization` header, or with a token that cannot be a key. MongoDB is not
 * read, so requests without a key cannot load it.
 */
export function requireToken({ keyPrefix, refuseKey }: RequireTokenDeps): Middleware {
  const shape = tokenShape(keyPrefix);
  return ({ req }, next) => {
    const token = tokenOf(req);
    if (token === null) throw refuseKey(req, 'missing');
    if (!isToken(shape, token)) throw refuseKey(req, 'malformed');
    return next();
  };
}
