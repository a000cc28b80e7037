import { useCallback, useEffect, useRef, useState, type ReactNode } from "react";
import type { Result } from "@holdfast/client";
import { problemText } from "../app-context.ts";

export type HostQuery<T> =
  | { readonly kind: "loading" }
  | { readonly kind: "loaded"; readonly value: T }
  | { readonly kind: "failed"; readonly message: string };

/** The result of a request, a function to send it again, and one to update the result from another response. */
export function useHostQuery<T>(
  fetchValue: () => Promise<Result<T>>,
): readonly [HostQuery<T>, () => void, (change: (value: T) => T) => void] {
  const [query, setQuery] = useState<HostQuery<T>>({ kind: "loading" });
  const [fetchOnce] = useState(() => fetchValue);
  /** Grows with each request and update: the response to an earlier request is stale. */
  const revision = useRef(0);
  const refetch = useCallback(() => {
    const requestRevision = ++revision.current;
    void fetchOnce().then((result) => {
      if (requestRevision !== revision.current) return undefined;
      setQuery(
        result.ok
          ? { kind: "loaded", value: result.value }
          : { kind: "failed", message: problemText(result.error) },
      );
      return undefined;
    });
  }, [fetchOnce]);
  const update = useCallback((change: (value: T) => T) => {
    revision.current++;
    setQuery((old) => (old.kind === "loaded" ? { kind: "loaded", value: change(old.value) } : old));
  }, []);
  useEffect(refetch, [refetch]);
  return [query, refetch, update];
}

/** Calls `callback` at intervals while the tab is visible. */
export function useInterval(ms: number, callback: () => void): void {
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") callback();
    }, ms);
    return () => clearInterval(timer);
  }, [ms, callback]);
}

interface SettingsGroupProps<T> {
  readonly title: string;
  readonly hint?: string;
  readonly query: HostQuery<T>;
  readonly children: (value: T) => ReactNode;
}

/** One section of the settings, rendered when its query has a result. */
export function SettingsGroup<T>({ title, hint, query, children }: SettingsGroupProps<T>) {
  return (
    <section className="settings-section">
      <h3>{title}</h3>
      {hint !== undefined && <p className="quiet">{hint}</p>}
      {query.kind === "loaded" && children(query.value)}
      {query.kind === "failed" && <p className="quiet">{query.message}</p>}
    </section>
  );
}

export function FactList({ facts }: { facts: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="facts">
      {facts.map(([name, value]) => (
        <div key={name} className="fact">
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
