import { exampleOrigin } from '../openapi/errors.ts';
import type { DocumentSettings } from '../openapi/settings.ts';

/** Where the pages are, and what of the configuration they show. */
export type Site = {
  /** Address of the API as examples have it. */
  apiUrl: string;
  /** Address of a path of this service, for links in pages. */
  href: (path: string) => string;
  /** Address of an asset, which changes with its content. */
  asset: (name: string) => string;
  settings: DocumentSettings;
};

/** Links are without a host, so that pages are the same whatever name the service was asked by. */
export function createSite(settings: DocumentSettings, assetFolder: string): Site {
  const { baseUrl } = settings.docs;
  const prefix = baseUrl ? new URL(baseUrl).pathname.replace(/\/$/, '') : '';
  const href = (path: string) => prefix + path;
  return {
    apiUrl: baseUrl ?? exampleOrigin,
    href,
    asset: (name) => href(`${assetFolder}/${name}`),
    settings,
  };
}
