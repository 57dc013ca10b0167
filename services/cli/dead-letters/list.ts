import { deadLettersOf } from '../../projector/dead-letters/collection.ts';
import { asJson, type CommandOutput } from '../output.ts';
import type { DeadLettersCommand } from './command.ts';
import { storeFilter, type StoredDeadLettersDeps } from './select.ts';
import { summarize, detailsOf, type DeadLetterDetails } from './summary.ts';

type List = {
  deadLetters: DeadLetterDetails[];
  total: number;
  counts: { topic: string; reason: string; count: number }[];
};

export async function listDeadLetters(
  deps: StoredDeadLettersDeps,
  { filter, limit, json }: Extract<DeadLettersCommand, { verb: 'dead-letters list' }>,
): Promise<CommandOutput> {
  const wanted = storeFilter(filter, deps.prefix);
  const [deadLetters, counts] = await Promise.all([
    summarize(deps).filter(wanted).sort({ lastAt: -1, _id: -1 }).limit(limit).toArray(),
    countDeadLetters(deps, wanted),
  ]);
  const total = counts.reduce((sum, { count }) => sum + count, 0);
  const list = {
    deadLetters: deadLetters.map((deadLetter) => detailsOf(deadLetter, deps.prefix)),
    total,
    counts,
  };
  return { text: json ? asJson(list) : render(list), exitCode: 0 };
}

async function countDeadLetters(
  deps: StoredDeadLettersDeps,
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

function render({ deadLetters, total, counts }: List): string {
  if (total === 0) return 'no dead letters\n';
  const lines = deadLetters.map(({ lastAt, id, key, orgId, count, reason, detail }) => {
    const short = detail.length > detailLengthMax ? `${detail.slice(0, detailLengthMax)}…` : detail;
    return `${lastAt}  ${id}  key ${key}  ${orgId ?? 'no org'}  ${count}×  ${reason}: ${short}`;
  });
  const sums = counts.map(({ topic, reason, count }) => `${String(count).padStart(8)}  ${topic}  ${reason}`);
  return [...lines, '', `${deadLetters.length} shown of ${total}:`, ...sums, ''].join('\n');
}
