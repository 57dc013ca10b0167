import type { ServerResponse } from 'node:http';
import type { Http2ServerResponse } from 'node:http2';

/** Whether the client has left already, so that the response has emitted its `close`. */
export const hasLeft = (response: ServerResponse | Http2ServerResponse): boolean =>
  'stream' in response ? response.stream.destroyed : response.closed;
