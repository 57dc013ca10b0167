/* Renders the reference. Nothing here takes a key or sends requests to other hosts. */
const element = document.getElementById('reference');
const { content: nonce } = document.querySelector('meta[property=csp-nonce]');

// The policy admits the style elements that have the nonce. The renderer sets it on one of its own only.
const createElement = document.createElement.bind(document);
document.createElement = (...given) => {
  const created = createElement(...given);
  if (created instanceof HTMLStyleElement) created.nonce = nonce;
  return created;
};
// A style attribute is inline, which the policy forbids. The same declarations are not, if the CSSOM sets them.
const { setAttribute } = Element.prototype;
Element.prototype.setAttribute = function (name, value) {
  if (name === 'style') this.style.cssText = value;
  else setAttribute.call(this, name, value);
};
const innerHTML = Object.getOwnPropertyDescriptor(Element.prototype, 'innerHTML');
Object.defineProperty(Element.prototype, 'innerHTML', {
  ...innerHTML,
  set(text) {
    innerHTML.set.call(this, String(text).replaceAll(' style="', ' data-style="'));
    for (const styled of this.querySelectorAll('[data-style]')) styled.style.cssText = styled.dataset.style;
  },
});
// The renderer's validator would try `eval`.
globalThis.__zod_globalConfig = { jitless: true };

// The renderer prints its version.
console.info = () => undefined;

const renderer = document.createElement('script');
renderer.src = element.dataset.renderer;
renderer.addEventListener('load', () =>
  window.Scalar.createApiReference(element, {
    url: element.dataset.document,
    agent: { disabled: true },
    mcp: { disabled: true },
    telemetry: false,
    withDefaultFonts: false,
    showDeveloperTools: 'never',
    documentDownloadType: 'none',
    hideClientButton: true,
    hideDarkModeToggle: true,
    hideModels: true,
    hideTestRequestButton: true,
    // The document has its own examples.
    hiddenClients: true,
    defaultOpenAllTags: true,
    orderSchemaPropertiesBy: 'preserve',
    onLoaded: () => {
      // The renderer brings a main region of its own.
      document.getElementById('content').removeAttribute('role');
      document.documentElement.dataset.reference = 'ready';
    },
  }),
);
document.head.append(renderer);
