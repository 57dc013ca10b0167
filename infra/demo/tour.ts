import type { Output } from './output.ts';
import { curlLine, runCurl, shorten, type Access } from './request.ts';

const linesMax = 20;

/** Shows the API at work: three requests as lines for a shell, each with the answer that it got just now. */
export async function showTour(access: Access, output: Output): Promise<void> {
  const tickets = await show(access, '/v1/tickets?status=open&status=snoozed&limit=2', output);
  const conversation = tickets.match(/"conv_[^"]+"/)?.[0].slice(1, -1);
  if (!conversation) throw new Error('the list of tickets names no conversation');
  await show(access, `/v1/conversations/${conversation}`, output);
  await show(access, '/v1/channels?limit=3', output);
}

async function show(access: Access, path: string, output: Output): Promise<string> {
  output.say('');
  output.tell(curlLine(access, path));
  const body = await runCurl(access, path);
  if (!body.startsWith('{"') || body.startsWith('{"error"'))
    throw new Error(`the API answered: ${shorten(body, 5)}`);
  output.say(shorten(body, linesMax));
  return body;
}
