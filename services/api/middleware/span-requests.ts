import { ROOT_CONTEXT, SpanKind } from '@opentelemetry/api';
import { contextOf, endSpan, startSpan, within } from '../../../shared/runtime/telemetry.ts';
import type { AddressRange } from '../../../shared/runtime/addresses.ts';
import type { Middleware } from '../http/context.ts';
import { methodLabel } from '../http/methods.ts';
import { isTrustedPeer } from '../http/proxy.ts';

/**
 * Makes an OpenTelemetry span of each request, from here to the end of its response. Only a trusted proxy can name its
 * parent: a client could otherwise choose which requests are sampled. Paths and queries contain customers' ids, so the
 * span has the route alone.
 */
export const spanRequests =
  ({ trustedProxies }: { trustedProxies: AddressRange[] }): Middleware =>
  (context, next) => {
    const method = methodLabel(context.method);
    const { socket, headers } = context.req;
    const span = startSpan(method, () => ({
      kind: SpanKind.SERVER,
      attributes: { 'http.request.method': method, 'support.request_id': context.state.requestId },
      parent: isTrustedPeer(trustedProxies, socket) ? contextOf(String(headers.traceparent)) : ROOT_CONTEXT,
    }));
    if (!span) return next();
    context.res.once('close', () => {
      const { route, failure } = context.state;
      if (route) span.updateName(`${method} ${route}`).setAttribute('http.route', route);
      const status = context.res.statusCode;
      span.setAttribute('http.response.status_code', status);
      endSpan(span, status >= 500 ? (failure ?? new Error()) : undefined);
    });
    return within(span, next);
  };
