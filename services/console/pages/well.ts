import { html, type Html } from '../../../shared/pages/html.ts';
import { pendingText } from '../../operations/counts.ts';
import type { Finding } from '../../operations/finding.ts';
import { byLag } from '../../operations/partitions.ts';
import { followsWithinSeconds, lagText } from '../../operations/progress-text.ts';
import { lagChart } from '../chart.ts';
import { command, definitions, freshness, seconds, staleness, type Page } from '../layout.ts';
import type { Samples } from '../samples.ts';
import type { Overview, Sources } from '../sources.ts';
import { ownerText } from './lag.ts';

/** Whether customers get current data, and if not, the reason. */
export const wellPage = ({ overview, counts }: Sources, samples: Samples): Page => ({
  path: '/',
  title: 'Is it well?',
  regions: async () => {
    const [now, counted] = await Promise.all([overview.get(), counts.get()]);
    const chart = lagChart(samples.all(), Date.now());
    const fresh = freshness(now, counted);
    const stale = staleness(now);
    if (!now.value)
      return { verdict: html`<p class="verdict bad">It is not known.</p>`, details: html``, chart, fresh };
    const { facts, findings, report } = now.value;
    const { registry, replicas } = facts;
    const active = report.generations.find(({ number }) => number === report.active);
    return {
      verdict: html`${stale ?? html`<p class="verdict ${classes[report.verdict]}">${report.sentence}</p>`}
        <ul>
          ${findings.filter(({ severity }) => severity !== 'progress').map(findingItem)}
        </ul>`,
      details: definitions([
        ['Data-As-Of', html`<time>${active?.watermark?.toISOString() ?? 'none yet'}</time>`],
        ['Lag', seconds(active?.lagSeconds ?? null)],
        ['Held back by', heldBack(now.value)],
        [
          'Generation',
          registry ? `${registry.generation}, active since ${registry.since.toISOString()}` : 'none yet',
        ],
        ['API replicas', replicas.map(({ host, pid }) => `${host} (process ${pid})`).join(', ') || 'none'],
        ['Pending', counted.value ? pendingText(counted.value.pending) : 'unknown'],
      ]),
      chart,
      fresh,
    };
  },
});

const classes = { well: 'good', attention: 'warn', bad: 'bad' } as const;

/** A finding, with the command that helps. */
export const findingItem = ({ generation, text, remedy }: Finding): Html =>
  html`<li class="finding">
    ${generation === null ? '' : `generation ${generation}: `}${text}
    ${remedy === null ? html`` : command(remedy)}
  </li>`;

/** The partition with the longest lag. */
function heldBack({ report, facts }: Overview): Html {
  const active = report.generations.find(({ number }) => number === report.active);
  const [partition] = active?.partitions.toSorted(byLag) ?? [];
  if (!active || !partition || (partition.lagSeconds ?? Infinity) < followsWithinSeconds)
    return html`no partition`;
  const { lagSeconds } = partition;
  const since =
    lagSeconds === null
      ? null
      : new Date(facts.now.getTime() - lagSeconds * 1_000).toISOString().slice(0, 19);
  return html`<a href="/lag">${lagText(partition, active.topics)}</a>,
    ${since ? `since ${since}Z` : 'since its beginning'}; ${ownerText(partition)}`;
}
