import { OtherProjectionVersion } from '../../../shared/store/generations.ts';
import { isTransientStoreError } from '../../../shared/store/transient-errors.ts';

/** The read model cannot be served for a reason that passes: no generation yet, indexes missing, no answer. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** Whether a failure is the store's and passes (503), rather than a fault of a query of ours (500). */
export const isStoreAway = (error: unknown): boolean =>
  error instanceof StoreUnavailable ||
  error instanceof OtherProjectionVersion ||
  isTransientStoreError(error) ||
  (error instanceof DOMException && error.name === 'TimeoutError');
