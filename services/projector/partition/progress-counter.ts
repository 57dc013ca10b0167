/** Call this at each durable part of an attempt. `isSaved`: a later attempt begins after this part. */
type CountPart = (isSaved?: boolean) => void;

/**
 * Counts the progress of attempts that each repeat the whole chunk: only parts beyond the furthest earlier attempt
 * count. Otherwise a chunk that fails again and again would never count as stuck. Call the returned function at the
 * start of each attempt.
 */
export function createProgressCounter(onProgress: () => void): () => CountPart {
  let furthestPart = 0;
  return () => {
    let part = 0;
    return (isSaved = false) => {
      if (isSaved) {
        part = 0;
        furthestPart = 0;
      }
      part += 1;
      if (part <= furthestPart) return;
      furthestPart = part;
      onProgress();
    };
  };
}
