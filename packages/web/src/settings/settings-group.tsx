import { useCallback, useEffect, useRef, useState, type ReactNode } from "react";
import type { Result } from "@holdfast/client";
import { problemText } from "../app-context.ts";

export type HostQuery<T> =
  | { readonly kind: "reading" }
  | { readonly kind: "read"; readonly value: T }
  | { readonly kind: "trouble"; readonly sentence: string };

/** What the host answers to a question, a way to ask it again, and one to show what another answer has just told. */
export function useHostQuery<T>(
  ask: () => Promise<Result<T>>,
): readonly [HostQuery<T>, () => void, (change: (value: T) => T) => void] {
  const [shown, setShown] = useState<HostQuery<T>>({ kind: "reading" });
  const [asking] = useState(() => ask);
  /** Grows with every question and with what is learned otherwise: an answer from before that is stale. */
  const newest = useRef(0);
  const again = useCallback(() => {
    const own = ++newest.current;
    void asking().then((result) => {
      if (own !== newest.current) return undefined;
      setShown(
        result.ok
          ? { kind: "read", value: result.value }
          : { kind: "trouble", sentence: problemText(result.error) },
      );
      return undefined;
    });
  }, [asking]);
  const learn = useCallback((change: (value: T) => T) => {
    newest.current++;
    setShown((old) => (old.kind === "read" ? { kind: "read", value: change(old.value) } : old));
  }, []);
  useEffect(again, [again]);
  return [shown, again, learn];
}

/** For what changes by itself: asked again now and then, while somebody looks. */
export function useInterval(ms: number, again: () => void): void {
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") again();
    }, ms);
    return () => clearInterval(timer);
  }, [ms, again]);
}

interface SettingsGroupProps<T> {
  readonly title: string;
  readonly hint?: string;
  readonly read: HostQuery<T>;
  readonly children: (value: T) => ReactNode;
}

/** One subject of the settings, with what the host says of it. */
export function SettingsGroup<T>({ title, hint, read, children }: SettingsGroupProps<T>) {
  return (
    <section className="settings-part">
      <h3>{title}</h3>
      {hint !== undefined && <p className="quiet">{hint}</p>}
      {read.kind === "read" && children(read.value)}
      {read.kind === "trouble" && <p className="quiet">{read.sentence}</p>}
    </section>
  );
}

export function FactList({ all }: { all: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="facts">
      {all.map(([name, value]) => (
        <div key={name} className="fact">
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
