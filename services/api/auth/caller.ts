/** The API key that authenticated a request, and its organization. */
export type Caller = { keyId: string; orgId: string };
