/**
 * Counts the progress of attempts that each repeat the whole chunk: only parts beyond the furthest earlier attempt
 * count. Otherwise a chunk that fails again and again would never count as stuck. Call the returned function at the
 * start of each attempt. This call returns the function for each durable part. `isSaved`: a later attempt begins
 * after this part.
 */
export function createProgressCounter(onProgress: () => void): () => (isSaved?: boolean) => void {
  let furthest = 0;
  return () => {
    let done = 0;
    return (isSaved = false) => {
      if (isSaved) {
        done = 0;
        furthest = 0;
      }
      done += 1;
      if (done <= furthest) return;
      furthest = done;
      onProgress();
    };
  };
}
