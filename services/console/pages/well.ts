import { html, type Html } from '../../../shared/pages/html.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import { heldBackBy, judge } from '../../operations/status/verdict.ts';
import { boundedCount, pendingText } from '../../operations/status/texts.ts';
import { lagChart } from '../chart.ts';
import { definitions, freshness, seconds, staleness, type Page } from '../layout.ts';
import type { Samples } from '../samples.ts';
import type { Overview, Sources } from '../sources.ts';
import { ownerText, progressText, type Owners } from './lag.ts';

/** Whether customers get current data, and if not, the reason. */
export const wellPage = ({ overview, status, owners }: Sources, samples: Samples): Page => ({
  path: '/',
  title: 'Is it well?',
  regions: async () => {
    const [now, counts, held] = await Promise.all([overview.get(), status.get(), owners.get()]);
    const chart = lagChart(samples.all(), Date.now());
    const fresh = freshness(now, counts, held);
    const stale = staleness(now, counts);
    if (!now.value || !counts.value)
      return { verdict: html`<p class="verdict bad">It is not known.</p>`, details: html``, chart, fresh };
    const { generations, registry, replicas } = now.value;
    const verdict = judge(generations, counts.value, replicas.length);
    const { deadLetters, pending } = counts.value;
    const active = generations.find(({ number }) => number === registry.generation);
    return {
      verdict: html`${stale ?? html`<p class="verdict ${classes[verdict.state]}">${verdict.sentence}</p>`}
        <ul>
          ${verdict.findings.map((finding) => html`<li class="finding">${finding}</li>`)}
        </ul>`,
      details: definitions([
        ['Data-As-Of', html`<time>${active?.watermark?.toISOString() ?? 'none yet'}</time>`],
        ['Lag', seconds(active?.lagSeconds ?? null)],
        ['Held back by', heldBack(now.value, held.value)],
        ['Generation', `${registry.generation}, active since ${registry.since.toISOString()}`],
        ['API replicas', replicas.map(({ host, pid }) => `${host} (process ${pid})`).join(', ') || 'none'],
        ['Dead letters', boundedCount(deadLetters)],
        ['Pending', pendingText(pending)],
      ]),
      chart,
      fresh,
    };
  },
});

const classes = { well: 'good', attention: 'warn', lagging: 'bad' } as const;

/** The partition with the longest lag, and since when records of it have waited. */
function heldBack({ generations, registry }: Overview, owners: Owners | null): Html {
  const active = generations.find(({ number }) => number === registry.generation);
  const partition = active && heldBackBy(active);
  if (!partition) return html`no partition`;
  const { topic, lag, lagSeconds } = partition;
  const since =
    lagSeconds === null ? null : new Date(Date.now() - lagSeconds * 1_000).toISOString().slice(0, 19);
  return html`<a href="/lag">${topic}/${partition.partition}</a>,
    ${since ? `since ${since}Z` : 'since its beginning'}:
    ${lag === null ? 'an unknown number of records' : counted(lag, 'record')} to apply,
    ${progressText(partition)}; ${ownerText(owners, partition)}`;
}
