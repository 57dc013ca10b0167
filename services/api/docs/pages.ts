import { errorPages } from './error-pages.ts';
import { exportsGuide } from './guides/exports.ts';
import { pagingGuide } from './guides/paging.ts';
import { layout } from './layout.ts';
import { referencePage } from './reference.ts';
import type { Site } from './site.ts';

/** The HTML of every page by its path. Pages do not change while the process runs. */
export function createPages(site: Site): Map<string, string> {
  const pages = [referencePage(site), pagingGuide(site), exportsGuide(site), ...errorPages(site)];
  return new Map(pages.map((page) => [page.path, layout(site, page)]));
}
