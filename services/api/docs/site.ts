import { exampleOrigin } from '../openapi/errors.ts';
import type { SpecSettings } from '../openapi/settings.ts';

/** The URLs of pages and assets, and the settings that pages contain. */
export type Site = {
  /** URL of the API in examples. */
  apiUrl: string;
  /** URL of a path of this service, for links in pages. */
  href: (path: string) => string;
  /** URL of an asset; it changes with the asset's content. */
  asset: (name: string) => string;
  settings: SpecSettings;
};

/** Links contain no host, so pages are the same under every host name of the service. */
export function createSite(settings: SpecSettings, assetFolder: string): Site {
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
