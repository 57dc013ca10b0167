import { createHash } from 'node:crypto';
import type { Service } from '../../infra/service.ts';
import { created } from './entities.ts';

const token = 'svc_live_process0123456789';

/** The key of `get`, as a record whose hash is in capitals, as some clients write it. */
export const apiKey = created('apiKey', 'key_1', {
  tokenSha256: createHash('sha256').update(token).digest('hex').toUpperCase(),
});

/** The settings of an API on a free port that reads the databases of a test. */
export const apiSettings = ({ MONGODB_URL, DATABASE_NAME }: Record<string, string | undefined>) => ({
  MONGODB_URL,
  DATABASE_NAME,
  API_HOST: '127.0.0.1',
  API_PORT: '0',
  API_TRUSTED_PROXIES: '127.0.0.0/8',
});

/** Requests a path of an API that runs as a process, once it listens. */
export async function get(api: Service, path: string): Promise<Response> {
  const { port } = await api.logged('listening');
  const headers = { authorization: `Bearer ${token}`, 'x-forwarded-proto': 'https' };
  return fetch(`http://127.0.0.1:${String(port)}${path}`, { headers });
}
