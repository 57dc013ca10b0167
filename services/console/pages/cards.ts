import { type Html, html } from '../../../shared/pages/html.ts';
import type { Finding } from '../../operations/findings.ts';
import { commandToCopy, withAges } from '../layout.ts';

/** The CSS class of a severity, or of a verdict. */
export const classes = { well: 'good', progress: 'good', attention: 'warn', bad: 'bad' } as const;

/** The command that accepts a finding. */
export const orAccept = (accept: string | null): Html =>
  accept === null ? html`` : html`or accept it: ${commandToCopy(accept)}`;

/** Findings with the commands that fix or accept them. `heading` is the generation that the heading above names. */
export const findingCards = (findings: Finding[], heading: number | null = null): Html =>
  findings.length === 0
    ? html``
    : html`<ul class="cards">
        ${findings.map(
          ({ generation, severity, text, fix, accept }) =>
            html`<li class="finding ${classes[severity]}">
              ${generation === heading || generation === null ? '' : `generation ${generation}: `}${withAges(text)}
              ${fix === null ? html`` : commandToCopy(fix)} ${orAccept(accept)}
            </li>`,
        )}
      </ul>`;
