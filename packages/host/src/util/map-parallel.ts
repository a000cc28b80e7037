/**
 * The results in the order of the items, with at most so many at work at a time. If one fails, the others that have
 * begun are waited for, and no more begin.
 */
export async function mapParallel<T, R>(
  items: readonly T[],
  most: number,
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: (readonly [index: number, result: R])[] = [];
  const todo = items.entries();
  let isFailing = false;
  const worker = async (): Promise<void> => {
    for (const [index, item] of todo) {
      if (isFailing) return;
      try {
        results.push([index, await work(item)]);
      } catch (error) {
        isFailing = true;
        throw error;
      }
    }
  };
  const workers = Array.from({ length: Math.min(most, items.length) }, worker);
  for (const end of await Promise.allSettled(workers))
    if (end.status === "rejected") throw end.reason;
  return results.toSorted(([a], [b]) => a - b).map(([, result]) => result);
}
