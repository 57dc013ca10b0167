import type { ServedKind } from '../../../shared/documents/served-indexes.ts';
import { type OnUnreadable, readListed } from '../store/readable.ts';

/** The approximate length of a piece of text. Many small writes would take more time than making the JSON. */
export const chunkLength = 32_768;

/** An object with one array. */
type ArrayFrame<Item, Presented> = {
  /** The kind of the items. An item that cannot be presented is left out. */
  kind: ServedKind;
  idOf: (item: Item) => string;
  onUnreadable: OnUnreadable;
  /** The members before the array. `first` is its first item. */
  before: (first: Presented | undefined) => object;
  /** The name of the array. */
  name: string;
  present: (item: Item) => Presented;
  /** The members after the array. */
  after: object;
};

/**
 * The JSON text of an object with an array that is read in batches. Nothing is written before the first batch, so the
 * members before the array may depend on its first item.
 */
export async function* objectChunks<Item, Presented>(
  batches: AsyncIterable<Item[]>,
  { kind, idOf, onUnreadable, before, name, present, after }: ArrayFrame<Item, Presented>,
): AsyncGenerator<string, void> {
  const open = (first: Presented | undefined) => `{${membersOf(before(first))},"${name}":[`;
  let text = '';
  let isOpen = false;
  for await (const batch of batches) {
    for (const item of batch) {
      const presented = readListed(kind, idOf(item), () => present(item), onUnreadable);
      if (presented === null) continue;
      text += (isOpen ? ',' : open(presented)) + JSON.stringify(presented);
      isOpen = true;
      if (text.length < chunkLength) continue;
      yield text;
      text = '';
    }
  }
  if (!isOpen) text = open(undefined);
  const membersAfter = membersOf(after);
  yield membersAfter === '' ? `${text}]}` : `${text}],${membersAfter}}`;
}

/** The members of an object as JSON, without the braces around them. */
export const membersOf = (object: object): string => JSON.stringify(object).slice(1, -1);
