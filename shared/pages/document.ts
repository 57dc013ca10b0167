import { type Html, html } from './html.ts';

/** A link of the navigation. */
type NavigationLink = {
  href: string;
  name: string;
  /** `page`: it leads to the page itself; `true`: the page belongs to the section of the link. */
  current: 'page' | 'true' | null;
};

type PageDocument = {
  title: string;
  /** The name of the site, after the title and in the header. */
  siteName: string;
  /** URLs. */
  icon: string;
  stylesheets: string[];
  navigation: { label: string; links: NavigationLink[] };
  /** Content of the header after the navigation. */
  besideNavigation?: Html;
  /** Further content of the head, for this page. */
  head?: Html;
  /** CSS classes of the content; `textClasses` by default. */
  contentClasses?: string;
  body: Html;
  footer: Html;
};

/** CSS classes of the content of a page of text. */
export const textClasses = 'pico container text';

/** The complete HTML document of a page: head, link to the content, header with navigation, content and footer. */
export const pageDocument = (page: PageDocument): string =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${page.title} · ${page.siteName}</title>
        <link rel="icon" type="image/svg+xml" href="${page.icon}" />
        ${page.stylesheets.map((href) => html`<link rel="stylesheet" href="${href}" />`)}
        ${page.head ?? html``}
      </head>
      <body>
        <a class="skip" href="#content">Skip to the content</a>
        <header class="pico container">
          <strong>${page.siteName}</strong>
          <nav aria-label="${page.navigation.label}">
            <ul>
              ${page.navigation.links.map(link)}
            </ul>
          </nav>
          ${page.besideNavigation ?? html``}
        </header>
        <div id="content" class="${page.contentClasses ?? textClasses}" role="main" tabindex="-1">
          ${page.body}
        </div>
        <footer class="pico container">${page.footer}</footer>
      </body>
    </html> `.html;

const link = ({ href, name, current }: NavigationLink): Html =>
  html`<li><a href="${href}" ${current ? html` aria-current="${current}"` : html``}>${name}</a></li>`;

/** Code for copying. Wide code scrolls in its own region, also by the keyboard. */
export const codeBlock = (label: string, text: string): Html =>
  html`<pre tabindex="0" role="region" aria-label="${label}"><code>${text.trim()}</code></pre>`;
