import { deadLettersOf } from '../../projector/dead-letters/dead-letters.ts';
import { asJson, type Printed } from '../printed.ts';
import type { DeadLettersCommand } from './command.ts';
import { storeFilter, type LettersDeps } from './select.ts';
import { bareLetters, shownLetter, type ShownLetter } from './shown.ts';

type List = {
  letters: ShownLetter[];
  total: number;
  counts: { topic: string; reason: string; count: number }[];
};

export async function listLetters(
  deps: LettersDeps,
  { filter, limit, json }: Extract<DeadLettersCommand, { verb: 'dead-letters list' }>,
): Promise<Printed> {
  const wanted = storeFilter(filter, deps.prefix);
  const [letters, counts] = await Promise.all([
    bareLetters(deps).filter(wanted).sort({ lastAt: -1, _id: -1 }).limit(limit).toArray(),
    countLetters(deps, wanted),
  ]);
  const total = counts.reduce((sum, { count }) => sum + count, 0);
  const list = { letters: letters.map((letter) => shownLetter(letter, deps.prefix)), total, counts };
  return { text: json ? asJson(list) : render(list), exitCode: 0 };
}

async function countLetters(
  deps: LettersDeps,
  wanted: ReturnType<typeof storeFilter>,
): Promise<List['counts']> {
  const groups = await deadLettersOf(deps.control)
    .aggregate<{ _id: { topic: string; reason: string }; count: number }>([
      { $match: wanted },
      { $group: { _id: { topic: '$topic', reason: '$reason' }, count: { $sum: 1 } } },
    ])
    .toArray();
  return groups
    .map(({ _id: { topic, reason }, count }) => ({ topic, reason, count }))
    .sort((a, b) => a.topic.localeCompare(b.topic) || a.reason.localeCompare(b.reason));
}

const detailLengthMax = 80;

function render({ letters, total, counts }: List): string {
  if (total === 0) return 'no dead letters\n';
  const lines = letters.map(({ lastAt, id, key, orgId, count, reason, detail }) => {
    const short = detail.length > detailLengthMax ? `${detail.slice(0, detailLengthMax)}…` : detail;
    return `${lastAt}  ${id}  key ${key}  ${orgId ?? 'no org'}  ${count}×  ${reason}: ${short}`;
  });
  const sums = counts.map(({ topic, reason, count }) => `${String(count).padStart(8)}  ${topic}  ${reason}`);
  return [...lines, '', `${letters.length} shown of ${total}:`, ...sums, ''].join('\n');
}
