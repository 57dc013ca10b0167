import type { Output } from './output.ts';
import { curlLine, runCurl, shorten, type Access } from './request.ts';

const linesMax = 20;

/** Demonstrates the API: prints three requests as curl commands, each with its response. */
export async function showTour(access: Access, output: Output): Promise<void> {
  const tickets = await show(access, '/v1/tickets?status=open&status=snoozed&limit=2', output);
  const conversation = tickets.match(/"conv_[^"]+"/)?.[0].slice(1, -1);
  if (!conversation) throw new Error('no ticket in the list has a conversation');
  await show(access, `/v1/conversations/${conversation}`, output);
  await show(access, '/v1/channels?limit=3', output);
}

async function show(access: Access, path: string, output: Output): Promise<string> {
  output.say('');
  output.always(curlLine(access, path));
  const body = await runCurl(access, path);
  if (!body.startsWith('{"') || body.startsWith('{"error"'))
    throw new Error(`the API answered: ${shorten(body, 5)}`);
  output.say(shorten(body, linesMax));
  return body;
}
