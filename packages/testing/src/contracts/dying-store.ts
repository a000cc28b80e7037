import type { Commit, Store } from "@holdfast/engine";

import { withMembers } from "./wrapped-stores.ts";

/** An instant of a writer's life: just before, or just after, its first commit that says this. */
export interface CrashPoint {
  readonly when: "before" | "after";
  readonly matches: (commit: Commit) => boolean;
}

/** A store as a process sees it that is killed at some moment: from then on nothing is answered any more. */
export function crashingStore(
  store: Store,
  { when, matches: says }: CrashPoint,
  onDeath: () => void,
): Store {
  const never = new Promise<never>(() => {});
  let died = false;
  return withMembers(store, {
    async commit(commit) {
      if (died) return never;
      const isLast = says(commit);
      died = isLast;
      if (isLast && when === "before") return (onDeath(), never);
      const result = await store.commit(commit);
      return isLast ? (onDeath(), never) : result;
    },
  });
}

export function withEvent(type: string, data: object = {}): CrashPoint["matches"] {
  return ({ events }) =>
    events.some(
      (event) =>
        event.type === type &&
        Object.entries(data).every(([key, value]) => event.data[key] === value),
    );
}
