import type { Fetch } from "@holdfast/client";
import { createSharedFetch } from "./shared-fetch.ts";

/** How this page reaches its host: with the other tabs where the browser lets them share, else by itself. */
export function openSharedFetch(base: string): Fetch {
  const alone: Fetch = (url, init) => fetch(url, init);
  // Over plain HTTP from another machine there are no locks.
  if (!("locks" in navigator)) return alone;
  const line = createSharedFetch({
    fetch: alone,
    base,
    locks: navigator.locks,
    // The number goes up when tabs of an older page could not follow what is said.
    channel: new BroadcastChannel(`holdfast:line:1:${base}`),
    newName: () => crypto.randomUUID(),
  });
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") line.checkLeader();
  });
  return line.fetch;
}
