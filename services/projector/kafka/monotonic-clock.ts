/** The internal parts of kafkajs whose decisions depend on the time. */
export type ClockParts = {
  consumerGroup: { prototype: { heartbeat: (options: { interval: number }) => Promise<void> } };
  brokerPool: { prototype: BrokerPool };
  requestQueue: { prototype: RequestQueue };
};

type BrokerPool = {
  metadataMaxAge: number;
  metadataExpireAt: number | null;
  refreshMetadata: (topics: string[]) => Promise<unknown>;
  refreshMetadataIfNecessary: (topics: string[]) => Promise<unknown>;
};
type RequestQueue = {
  pending: unknown[];
  inflight: Map<number, { requestTimeout: number; timeoutRequest: () => void }>;
  requestTimeout: number;
  enforceRequestTimeout: boolean;
  requestTimeoutIntervalId: NodeJS.Timeout;
  throttledUntil: number;
  isConnected: () => boolean;
  destroy: () => void;
  checkPendingRequests: () => void;
  maybeThrottle: (throttleMs: number | null | undefined) => void;
  scheduleCheckPendingRequests: () => void;
  scheduleRequestTimeoutCheck: () => void;
};

/**
 * kafkajs compares readings of the wall clock. When the clock of the host is set back by minutes, it sends no heartbeat,
 * refreshes no metadata and gives up no request for as long. The patch measures each of these by a monotonic clock.
 */
export function followMonotonicClock(parts: ClockParts): void {
  measureHeartbeats(parts);
  measureMetadataAge(parts);
  measureRequests(parts);
}

function measureHeartbeats({ consumerGroup: { prototype } }: ClockParts): void {
  const sentMs = new WeakMap<object, number>();
  const { heartbeat } = prototype;
  prototype.heartbeat = async function ({ interval }) {
    if (performance.now() < (sentMs.get(this) ?? -Infinity) + interval) return;
    // By the wall clock, this interval has always passed.
    await heartbeat.call(this, { interval: -Infinity });
    sentMs.set(this, performance.now());
  };
}

function measureMetadataAge({ brokerPool: { prototype } }: ClockParts): void {
  const refreshedMs = new WeakMap<object, number>();
  const { refreshMetadata, refreshMetadataIfNecessary } = prototype;
  prototype.refreshMetadata = async function (topics) {
    await refreshMetadata.call(this, topics);
    refreshedMs.set(this, performance.now());
  };
  prototype.refreshMetadataIfNecessary = function (topics) {
    if (performance.now() > (refreshedMs.get(this) ?? 0) + this.metadataMaxAge) this.metadataExpireAt = null;
    return refreshMetadataIfNecessary.call(this, topics);
  };
}

/** The interval of the check for timed out requests, in milliseconds; kafkajs checks ten times as often. */
const timeoutCheckMs = 1_000;

/**
 * Also stops idle timers: after the first response on a connection, kafkajs checks for unsent requests every millisecond,
 * forever, 900 times a second for each used connection. The patch keeps the check only while requests are unsent.
 */
function measureRequests({ requestQueue: { prototype } }: ClockParts): void {
  const { scheduleCheckPendingRequests } = prototype;
  const throttledToMs = new WeakMap<object, number>();
  prototype.maybeThrottle = function (throttleMs) {
    if (!throttleMs) return;
    const untilMs = Math.max(throttledToMs.get(this) ?? 0, performance.now() + throttleMs);
    throttledToMs.set(this, untilMs);
    this.throttledUntil = Infinity;
    setTimeout(() => {
      if (throttledToMs.get(this) !== untilMs) return;
      this.throttledUntil = -1;
      this.checkPendingRequests();
    }, untilMs - performance.now());
  };
  prototype.scheduleCheckPendingRequests = function () {
    if (this.pending.length > 0 && this.throttledUntil < 0) scheduleCheckPendingRequests.call(this);
  };
  prototype.scheduleRequestTimeoutCheck = function () {
    if (!this.enforceRequestTimeout) return;
    this.destroy();
    const seenMs = new WeakMap<object, number>();
    const check = () => {
      for (const request of this.inflight.values()) {
        const sinceMs = seenMs.get(request) ?? performance.now();
        seenMs.set(request, sinceMs);
        if (performance.now() - sinceMs > request.requestTimeout) request.timeoutRequest();
      }
      if (!this.isConnected()) this.destroy();
    };
    this.requestTimeoutIntervalId = setInterval(check, Math.min(this.requestTimeout, timeoutCheckMs));
  };
}
