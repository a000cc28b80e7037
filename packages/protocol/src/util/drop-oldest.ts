interface Entries<K> {
  readonly size: number;
  keys(): Iterable<K>;
  delete(key: K): boolean;
}

/** Bounds a map or set: of more entries than this, those that were added first are dropped. */
export function dropOldest<K>(entries: Entries<K>, maxSize: number): void {
  if (entries.size <= maxSize) return;
  for (const key of entries.keys()) {
    entries.delete(key);
    if (entries.size <= maxSize) return;
  }
}
