import { type Html, html } from '../../../shared/pages/html.ts';
import type { Finding } from '../../operations/findings.ts';
import { command, withAges } from '../layout.ts';

/** The CSS class of a severity, or of a verdict. */
export const classes = { well: 'good', progress: 'good', attention: 'warn', bad: 'bad' } as const;

/** Findings, each with the command that helps. The heading above may name their generation. */
export const cards = (findings: Finding[], heading: number | null = null): Html =>
  findings.length === 0
    ? html``
    : html`<ul class="cards">
        ${findings.map(
          ({ generation, severity, text, remedy }) =>
            html`<li class="finding ${classes[severity]}">
              ${generation === heading || generation === null ? '' : `generation ${generation}: `}${withAges(text)}
              ${remedy === null ? html`` : command(remedy)}
            </li>`,
        )}
      </ul>`;
