import { useSyncExternalStore } from "react";
import { strings } from "../strings/strings.ts";
import { Icon } from "./icons.tsx";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly shownAt: number;
  readonly action?: { readonly label: string; readonly run: () => void };
}

export interface Toasts {
  readonly read: () => readonly Toast[];
  readonly subscribe: (listener: () => void) => () => void;
  readonly show: (text: string, action?: Toast["action"]) => void;
  readonly dismiss: (id: number) => void;
}

const visibleMs = 7_000;
const maxToasts = 3;
/** What belongs together, such as files that were refused, is shown together. Anything later replaces it. */
const togetherMs = 1_000;

export function createToasts(): Toasts {
  let shown: readonly Toast[] = [];
  let lastId = 0;
  const listeners = new Set<() => void>();
  function setToasts(next: readonly Toast[]): void {
    shown = next;
    listeners.forEach((listener) => listener());
  }
  const dismiss = (id: number): void => setToasts(shown.filter((toast) => toast.id !== id));
  return {
    read: () => shown,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    show(text, action) {
      const id = ++lastId;
      const shownAt = performance.now();
      const others = shown.filter(
        (toast) => toast.text !== text && shownAt - toast.shownAt < togetherMs,
      );
      setToasts([...others.slice(1 - maxToasts), { id, text, shownAt, ...(action && { action }) }]);
      setTimeout(() => dismiss(id), visibleMs);
    },
    dismiss,
  };
}

export function ToastList({ toasts }: { toasts: Toasts }) {
  const shown = useSyncExternalStore(toasts.subscribe, toasts.read);
  return (
    <output className="toasts">
      {shown.map(({ id, text, action }) => (
        <div key={id} className="toast">
          <span>{text}</span>
          {action !== undefined && (
            <button
              type="button"
              className="button"
              onClick={() => {
                toasts.dismiss(id);
                action.run();
              }}
            >
              {action.label}
            </button>
          )}
          <button
            type="button"
            className="button"
            aria-label={strings.common.close}
            onClick={() => toasts.dismiss(id)}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
    </output>
  );
}
