import { startApi, type TestStore } from '../api/test-api.ts';

/** The status of a request to an API that remembers no key. */
export async function statusOf(served: Pick<TestStore, 'client' | 'name'>, token: string): Promise<number> {
  const api = await startApi(served);
  try {
    const { status } = await api.get('/v1/tickets', { token });
    return status;
  } finally {
    await api.close();
  }
}
