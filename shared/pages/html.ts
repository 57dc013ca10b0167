/** Text that is already HTML. Templates escape everything else. */
export type Html = { html: string };

type Value = string | number | Html | Html[];

/** An HTML template. Values are escaped, except the results of other templates. */
export const html = (parts: TemplateStringsArray, ...values: Value[]): Html => ({
  html: String.raw({ raw: parts }, ...values.map(render)),
});

function render(value: Value): string {
  if (Array.isArray(value)) return value.map(render).join('');
  if (typeof value === 'object') return value.html;
  return String(value).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/**
 * A table whose first column contains row headers. Each cell also names its column, for screens too narrow for a table.
 */
export const table = (caption: string, titles: string[], rows: [Html, ...Html[]][]): Html =>
  html`<table>
    <caption>
      ${caption}
    </caption>
    <thead>
      <tr>
        ${titles.map((title) => html`<th scope="col">${title}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${rows.map(
        ([name, ...cells]) =>
          html`<tr>
            <th scope="row">${name}</th>
            ${cells.map((cell, index) => html`<td data-label="${titles[index + 1] ?? ''}">${cell}</td>`)}
          </tr>`,
      )}
    </tbody>
  </table>`;
