import { html } from './html.ts';

test('a value in a template is escaped exactly once', () => {
  const text = `<script>alert("&")</script>'`;
  const inner = html`<b title="${text}">${text}</b>`;
  expect(inner.html).not.toMatch(/<script|"&"|'/);
  expect(html`<p>${[inner, inner]}</p>`.html).toBe(`<p>${inner.html}${inner.html}</p>`);
});
