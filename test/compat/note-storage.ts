/** A name that the page used in a browser API, and the value that it stored. */
export interface NotedName {
  readonly place: string;
  readonly name: string;
  readonly value?: string;
}

/**
 * Runs in the browser before the page's scripts and reports every name that they use in storage, channels and locks. Reading
 * the storage afterwards would miss what was removed in between.
 */
export function noteStorage(): void {
  const { noteName } = globalThis as unknown as {
    readonly noteName: (noted: NotedName) => Promise<void>;
  };

  function watch(owner: object, method: string, placeOf: (self: unknown) => string): void {
    const original = Reflect.get(owner, method) as (...given: unknown[]) => unknown;
    Reflect.set(owner, method, function watched(this: unknown, ...given: unknown[]) {
      const [name, value] = given;
      const kept = typeof value === "string" ? { value } : {};
      void noteName({ place: placeOf(this), name: String(name), ...kept });
      return Reflect.apply(original, this, given);
    });
  }

  const storage = (self: unknown): string =>
    self === localStorage ? "localStorage" : "sessionStorage";
  for (const method of ["getItem", "setItem", "removeItem"])
    watch(Storage.prototype, method, storage);
  watch(IDBFactory.prototype, "open", () => "indexedDB");
  watch(CacheStorage.prototype, "open", () => "cache");
  watch(LockManager.prototype, "request", () => "lock");
  globalThis.BroadcastChannel = new Proxy(BroadcastChannel, {
    construct(channel, [name]: [string]) {
      void noteName({ place: "BroadcastChannel", name });
      return new channel(name);
    },
  });
}
