import type { Result } from "@holdfast/client";
import { problemText } from "../app-context.ts";
import type { HostQuery } from "../settings/settings-group.tsx";

/** The answer to one request, for all parts of the page that show it. */
export interface SharedRead<T> {
  readonly read: () => HostQuery<T>;
  readonly subscribe: (listener: () => void) => () => void;
  /** Asks the host, unless it is being asked: several parts appear at once. */
  readonly load: () => void;
  /** Asks again after a change. */
  readonly refresh: () => void;
}

/** `follow` says when to ask again, as long as anything shows the answer, and returns how to stop. */
export function createSharedRead<T>(
  ask: () => Promise<Result<T>>,
  follow: (refresh: () => void) => () => void = () => () => {},
): SharedRead<T> {
  let answer: HostQuery<T> = { kind: "loading" };
  let underWay = 0;
  /** Grows with each request: the answer to an earlier one is stale. */
  let revision = 0;
  let unfollow = (): void => {};
  const listeners = new Set<() => void>();

  async function send(): Promise<void> {
    const sent = ++revision;
    underWay++;
    const result = await ask();
    underWay--;
    if (sent !== revision) return;
    answer = result.ok
      ? { kind: "loaded", value: result.value }
      : { kind: "failed", message: problemText(result.error) };
    listeners.forEach((listener) => listener());
  }
  const refresh = (): void => void send();

  return {
    read: () => answer,
    subscribe(listener) {
      if (listeners.size === 0) unfollow = follow(refresh);
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) unfollow();
      };
    },
    load() {
      if (underWay === 0) refresh();
    },
    refresh,
  };
}
