import { setTimeout as sleep } from 'node:timers/promises';
import {
  context,
  diag,
  DiagLogLevel,
  propagation,
  SpanKind,
  SpanStatusCode,
  trace,
  type Context,
  type Link,
  type Span,
  type SpanOptions,
} from '@opentelemetry/api';
import type { MongoClient } from 'mongodb';
import type { Logger } from 'pino';
import { release } from './release.ts';

/** Set if OTEL_EXPORTER_OTLP_ENDPOINT is. While telemetry is off, only the API package of OpenTelemetry is loaded. */
let isOn = false;
export const isTelemetryOn = (): boolean => isOn;
const tracer = trace.getTracer('support-read-models', release);

/**
 * A stop waits this long for the last spans, in milliseconds, so that a collector that is away does not delay it.
 */
const lastSpansMs = 2_000;

type TelemetryConfig = Partial<
  Record<'OTEL_EXPORTER_OTLP_ENDPOINT' | 'OTEL_EXPORTER_OTLP_HEADERS', string | undefined>
>;

/**
 * Starts to export spans over OTLP, as OpenTelemetry's standard variables say, which its SDK reads. Call it before
 * `createMongo`. Returns the closer that sends the last spans, for `onShutdown`; none if telemetry is off.
 */
export async function startTelemetry(
  serviceName: string,
  { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers }: TelemetryConfig,
  logger: Logger,
) {
  if (!endpoint) return [];
  // The SDK reads no file.
  if (headers) process.env.OTEL_EXPORTER_OTLP_HEADERS = headers;
  const { NodeSDK } = await import('@opentelemetry/sdk-node');
  const sdk = new NodeSDK({
    serviceName: process.env.OTEL_SERVICE_NAME ?? serviceName,
    // Prometheus scrapes the metrics, and the logs are on stdout.
    metricReaders: [],
    logRecordProcessors: [],
  });
  const warn = (message: string) =>
    logger.warn({ telemetry: message.slice(0, 500) }, 'spans are not exported');
  const ignore = () => undefined;
  diag.setLogger({ error: warn, warn, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.WARN);
  sdk.start();
  isOn = true;
  const close = () => Promise.race([sdk.shutdown().catch(ignore), sleep(lastSpansMs, null, { ref: false })]);
  return [{ name: 'telemetry', close, deadlineMs: lastSpansMs + 1_000 }];
}

/** Starts a span, which the caller ends; null if telemetry is off. `options` is called only if it is on. */
export const startSpan = (name: string, options: () => SpanOptions & { parent?: Context }): Span | null => {
  if (!isOn) return null;
  const { parent = context.active(), ...rest } = options();
  return tracer.startSpan(name, rest, parent);
};

/** Runs `work` as a part of the span: its commands of MongoDB become children, its log lines carry the ids. */
export const within = <T>(span: Span, work: () => T): T =>
  context.with(trace.setSpan(context.active(), span), work);

/** Ends a span; it failed if there is an `error`. */
export function endSpan(span: Span | undefined, error?: unknown): void {
  if (error !== undefined) {
    const type = error instanceof Error ? error.name : 'unknown';
    span?.setStatus({ code: SpanStatusCode.ERROR }).setAttribute('error.type', type);
  }
  span?.end();
}

/** Runs `work` in a span of its own, which fails if `work` rejects. */
export async function inSpan<T>(
  name: string,
  options: () => SpanOptions & { parent?: Context },
  work: () => Promise<T>,
): Promise<T> {
  const span = startSpan(name, options);
  if (!span) return work();
  try {
    const result = await within(span, work);
    span.end();
    return result;
  } catch (error) {
    endSpan(span, error);
    throw error;
  }
}

/** The context that a `traceparent` names (W3C Trace Context); the root context without a valid one. */
export const contextOf = (traceparent: string | undefined): Context =>
  propagation.extract(trace.deleteSpan(context.active()), { traceparent });

/** Links to the spans that these `traceparent`s name, each once. */
export const linksTo = (traceparents: Iterable<string>): Link[] =>
  [...new Set(traceparents)].flatMap((traceparent) => {
    const linked = trace.getSpanContext(contextOf(traceparent));
    return linked ? [{ context: linked }] : [];
  });

/** The ids of the current span, for a log line. */
export function spanIds(): { trace_id?: string; span_id?: string } {
  const ids = isOn ? trace.getActiveSpan()?.spanContext() : undefined;
  return ids ? { trace_id: ids.traceId, span_id: ids.spanId } : {};
}

/**
 * Makes a span of each command that is part of another span, so that heartbeats and polls make none. The client needs
 * the option `monitorCommands`. A span names the command and its collection, never the contents: these are customers'.
 */
export function observeCommands(client: MongoClient): void {
  const spans = new Map<number, Span>();
  const end = (requestId: number, error?: Error) => {
    endSpan(spans.get(requestId), error);
    spans.delete(requestId);
  };
  client.on('commandStarted', ({ requestId, commandName, databaseName, command }) => {
    if (!trace.getActiveSpan()) return;
    const collection: unknown = command[commandName === 'getMore' ? 'collection' : commandName];
    const attributes = {
      'db.system.name': 'mongodb',
      'db.namespace': databaseName,
      'db.operation.name': commandName,
      ...(typeof collection === 'string' && { 'db.collection.name': collection }),
    };
    const name = typeof collection === 'string' ? `${commandName} ${collection}` : commandName;
    spans.set(requestId, tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }));
  });
  client.on('commandSucceeded', ({ requestId }) => end(requestId));
  client.on('commandFailed', ({ requestId, failure }) => end(requestId, failure));
}
