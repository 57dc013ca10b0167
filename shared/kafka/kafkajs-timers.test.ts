import { installedKafkajs, patchKafkajs } from './kafkajs-patch.ts';

type Sent = { entry: object; expectResponse: boolean; requestTimeout: number; sendRequest: () => void };
type Queue = {
  push: (request: Sent) => void;
  fulfillRequest: (response: { correlationId: number; payload: null; size: number }) => void;
  maybeThrottle: (throttleMs: number | null | undefined) => void;
};

describe('the requests on a connection to a broker', () => {
  beforeAll(() => patchKafkajs());
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  test('start a timer only for an unsent request or a requested delay', () => {
    const log: string[] = [];
    const RequestQueue = installedKafkajs().requestQueue as unknown as new (options: object) => Queue;
    const queue = new RequestQueue({
      maxInFlightRequests: null,
      requestTimeout: 30_000,
      enforceRequestTimeout: true,
      logger: { debug: () => undefined, warn: () => undefined },
    });
    for (const throttleMs of [undefined, null, 0]) queue.maybeThrottle(throttleMs);
    queue.push({
      entry: { correlationId: 1, resolve: () => log.push('answered'), reject: () => log.push('timed out') },
      expectResponse: true,
      requestTimeout: 0,
      sendRequest: () => log.push('sent'),
    });
    queue.fulfillRequest({ correlationId: 1, payload: null, size: 0 });
    expect(log).toEqual(['sent', 'answered']);
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('a fetch', () => {
  test('a fetch asks for an equal share of each partition, and for short waits while one partition is paused', async () => {
    // A consumer group that records the wait and the share of each fetch.
    const paused: unknown[] = [];
    const waitsMs: number[] = [];
    const sharesBytes = new Set<number>();
    const prototype = {
      maxWaitTime: 1_000,
      maxBytesPerPartition: 900,
      heartbeat: async () => undefined,
      assigned: () => [{ partitions: [0, 1] }, { partitions: [0] }],
      paused: () => paused,
      recoverFromFetch: async () => undefined,
      cluster: { refreshMetadata: async () => undefined, brokerPool: { brokers: {} } },
      async fetch(this: { maxWaitTime: number; maxBytesPerPartition: number }) {
        waitsMs.push(this.maxWaitTime);
        sharesBytes.add(this.maxBytesPerPartition);
        return [];
      },
    };
    const installed = installedKafkajs();
    patchKafkajs({ ...installed, fetch: { ...installed.fetch }, consumerGroup: { prototype } });
    const group = Object.create(prototype) as typeof prototype & { fetch: (nodeId: number) => Promise<[]> };
    // Fetches from two brokers before, during and after the pause of a partition.
    const ask = () => Promise.all([group.fetch(1), group.fetch(2)]);
    await ask();
    paused.push('topic');
    await ask();
    paused.length = 0;
    await ask();
    expect(waitsMs).toEqual([1_000, 1_000, 100, 100, 1_000, 1_000]);
    expect([...sharesBytes]).toEqual([300]);
  });
});
