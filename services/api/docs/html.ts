/** Text that is HTML already. Everything else is escaped when it is put into a template. */
export type Html = { html: string };

type Value = string | number | Html | Html[];

/** A template of HTML: values are escaped, but for what another template has made. */
export const html = (parts: TemplateStringsArray, ...values: Value[]): Html => ({
  html: String.raw({ raw: parts }, ...values.map(render)),
});

function render(value: Value): string {
  if (Array.isArray(value)) return value.map(render).join('');
  if (typeof value === 'object') return value.html;
  return String(value).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** A sentence in which backticks mark code. */
export const prose = (text: string): Html[] =>
  text.split('`').map((part, index) => (index % 2 === 0 ? html`${part}` : html`<code>${part}</code>`));
