import { html, prose } from './html.ts';

test('a value in a template is escaped exactly once', () => {
  const text = `<script>alert("&")</script>'`;
  const inner = html`<b title="${text}">${text}</b>`;
  expect(inner.html).not.toMatch(/<script|"&"|'/);
  expect(html`<p>${[inner, inner]}</p>`.html).toBe(`<p>${inner.html}${inner.html}</p>`);
});

test('backticks in prose mark code, which is escaped too', () => {
  const marked = prose('Send `Bearer <API_KEY>` & wait').map((part) => part.html);
  expect(marked.join('')).toBe('Send <code>Bearer &#60;API_KEY&#62;</code> &#38; wait');
});
