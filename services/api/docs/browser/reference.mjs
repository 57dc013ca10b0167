/* Renders the reference. The bundle, a classic script that is deferred too, has run before this module. */
const root = document.documentElement;
const element = document.getElementById('reference');

const dark = matchMedia('(prefers-color-scheme: dark)');
const followScheme = () => root.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', followScheme);
followScheme();

/** Keys belong on servers: nothing here takes one, and nothing here sends requests. */
const withoutKeys = () => ({
  components: {
    authorizeBtn: () => null,
    AuthorizeBtnContainer: () => null,
    authorizeOperationBtn: () => null,
  },
});

/** It would link to spdx.org, which knows no private licence. */
const withoutLicence = () => ({ components: { OAS31License: () => null, License: () => null } });

window.SwaggerUIBundle({
  domNode: element,
  url: element.dataset.document,
  // Every operation is listed; all of them opened at once would keep a phone busy for seconds.
  docExpansion: 'list',
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  defaultModelExpandDepth: 3,
  supportedSubmitMethods: [],
  validatorUrl: null,
  plugins: [withoutKeys, withoutLicence],
  onComplete: () => {
    // The renderer brings a main region of its own.
    document.getElementById('content').removeAttribute('role');
    root.dataset.reference = 'ready';
  },
});
