import type { Result } from "@holdfast/protocol";
import { useCallback, useEffect, useState } from "react";
import { sentenceOf } from "../app-context.ts";

export type Read<T> =
  | { readonly kind: "reading" }
  | { readonly kind: "read"; readonly value: T }
  | { readonly kind: "trouble"; readonly sentence: string };

/** What the host answers to a question, and a way to ask it again. */
export function useRead<T>(ask: () => Promise<Result<T>>): readonly [Read<T>, () => void] {
  const [shown, setShown] = useState<Read<T>>({ kind: "reading" });
  const [asking] = useState(() => ask);
  const again = useCallback(() => {
    void asking().then((result) => {
      setShown(
        result.ok
          ? { kind: "read", value: result.value }
          : { kind: "trouble", sentence: sentenceOf(result.error) },
      );
      return undefined;
    });
  }, [asking]);
  useEffect(again, [again]);
  return [shown, again];
}

/** For what changes by itself: asked again now and then, while somebody looks. */
export function useEvery(ms: number, again: () => void): void {
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") again();
    }, ms);
    return () => clearInterval(timer);
  }, [ms, again]);
}
