import { setTimeout as delay } from 'node:timers/promises';
import { CompressionTypes } from 'kafkajs';
import type { DemoConnections } from './connections.ts';
import type { SampleState } from '../sample-data/sample-data.ts';
import { liveChanges } from '../sample-data/live-changes.ts';
import { publishRecords } from '../sample-data/publish.ts';
import { countDocuments, readLag } from './lag.ts';
import type { Output } from './output.ts';
import { ask, type Access } from './requests.ts';

const changesPerTurn = 5;
const turnMs = 250;

/**
 * Publishes live changes until `stopping` is aborted. Runs `meanwhile` first, and from then on prints a status line each
 * second.
 */
export async function produceLiveTraffic(
  {
    connections,
    access,
    output,
    stopping,
  }: { connections: DemoConnections; access: Access; output: Output; stopping: AbortSignal },
  state: SampleState,
  meanwhile: () => Promise<void>,
): Promise<void> {
  const published = { records: 0 };
  const publishing = async () => {
    const changes = liveChanges(state);
    for (let turn = 0; !stopping.aborted; turn++) {
      const records = Array.from({ length: changesPerTurn }, () => changes.next().value).flat();
      const codec = turn % 2 === 0 ? CompressionTypes.ZSTD : CompressionTypes.LZ4;
      await publishRecords(connections, records, codec);
      published.records += records.length;
      await delay(turnMs);
    }
  };
  const watching = async () => {
    await meanwhile();
    let [before, at] = [published.records, performance.now()];
    while (!stopping.aborted) {
      await delay(1_000);
      const [now, seconds] = [published.records, (performance.now() - at) / 1_000];
      const line = await statusLine(connections, access, (now - before) / seconds);
      if (!stopping.aborted) output.status(line);
      [before, at] = [now, at + seconds * 1_000];
    }
  };
  await Promise.all([publishing(), watching()]);
}

async function statusLine(
  connections: DemoConnections,
  access: Access,
  eventsPerSecond: number,
): Promise<string> {
  const [{ lag }, documents, asOf] = await Promise.all([
    readLag(connections),
    countDocuments(connections),
    ask(access, '/v1/channels?limit=1').then(
      ({ dataAsOf }) => dataAsOf,
      () => null,
    ),
  ]);
  const age = asOf ? ` (${((Date.now() - Date.parse(asOf)) / 1_000).toFixed(1)} s old)` : '';
  return [
    new Date().toISOString().slice(11, 19),
    `${Math.round(eventsPerSecond)} events/s`,
    `lag ${lag}`,
    `${documents.toLocaleString('en')} documents`,
    `Data-As-Of ${asOf ?? 'unknown'}${age}`,
  ].join('  ');
}
