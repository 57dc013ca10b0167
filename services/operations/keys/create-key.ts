import { hash, randomBytes } from 'node:crypto';
import type { Producer } from 'kafkajs';
import { ulid } from 'ulid';
import type { z } from 'zod';
import type { apiKeyState } from '../../../shared/documents/api-key.ts';
import { topicOf } from '../../../shared/kafka/topics.ts';
import { errorMessage } from '../../../shared/runtime/error-message.ts';

export type NewKey = { orgId: string; name: string; mode: 'live' | 'test'; rateLimit?: number | undefined };

/** A new key with its token. Only this value contains the token; the event contains its SHA-256. */
export type CreatedKey = { id: string; orgId: string; token: string };

/** The number of random bytes in a token. */
const tokenBytes = 24;

export type PublishDeps = { producer: Producer; topicPrefix: string };

/**
 * Publishes a new key, as the source system would, after `handOver` has given the token to the operator. Otherwise a
 * key could exist whose token is lost. The key works once a projector has applied the event, and a rebuild keeps it.
 * Rejects with the topic and the id if the brokers do not confirm the event, although they may have stored it.
 */
export async function createKey(
  { keyPrefix, ...deps }: PublishDeps & { keyPrefix: string },
  { orgId, name, mode, rateLimit }: NewKey,
  handOver: (created: CreatedKey) => Promise<void>,
): Promise<void> {
  const id = `key_${ulid()}`;
  const token = `${keyPrefix}_${mode}_${randomBytes(tokenBytes).toString('hex')}`;
  const createdAt = new Date().toISOString();
  const tokenSha256 = hash('sha256', token);
  await handOver({ id, orgId, token });
  await publishKey(deps, orgId, { id, name, mode, access: 'read', createdAt, tokenSha256, rateLimit });
}

/** Publishes the state of a key: its first version or, once it is archived, its second and last one. */
export async function publishKey(deps: PublishDeps, orgId: string, data: z.input<typeof apiKeyState>) {
  const { id, createdAt, archivedAt } = data;
  const version = archivedAt ? 2 : 1;
  const event = {
    specversion: '1.0',
    id: `${id}:${version}`,
    source: '/support-cli',
    type: `support.apiKey.${archivedAt ? 'updated' : 'created'}.v1`,
    subject: id,
    time: archivedAt ?? createdAt,
    orgid: orgId,
    entityversion: version,
    datacontenttype: 'application/json',
    data,
  };
  const topic = topicOf('apiKey', deps.topicPrefix);
  const headers = { 'content-type': 'application/cloudevents+json' };
  try {
    await deps.producer.send({ topic, messages: [{ key: id, value: JSON.stringify(event), headers }] });
  } catch (error) {
    const reason = errorMessage(error);
    throw new Error(`${topic} did not confirm the key ${id}: ${reason}`, { cause: error });
  }
}
