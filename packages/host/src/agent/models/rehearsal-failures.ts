import type { ModelFailure } from "@holdfast/engine";

/** The failure that a provider's HTTP status stands for. */
export function failureForStatus(status: number): ModelFailure {
  const message = `The rehearsal model failed with ${status}, as the message told it to.`;
  if (status === 429)
    return { class: "overloaded", code: "model_overloaded", message, retryAfterMs: 1000 };
  if (status >= 500) return { class: "retryable", code: "model_unavailable", message };
  if (status === 401 || status === 403)
    return { class: "auth", code: "model_unauthorized", message };
  if (status === 413) return { class: "overflow", code: "model_overflow", message };
  return { class: "fatal", code: "model_refused_request", message };
}

/** How often each part of a turn failed on purpose. */
export interface FailureCounts {
  read(key: string): number;
  write(key: string, count: number): void;
  forget(key: string): void;
}

/** Turns that were given up after a failure are never asked for again; the oldest make room. */
const maxRemembered = 1000;

export function createFailureCounts(): FailureCounts {
  const counts = new Map<string, number>();
  return {
    read: (key) => counts.get(key) ?? 0,
    write(key, count) {
      counts.delete(key);
      counts.set(key, count);
      if (counts.size <= maxRemembered) return;
      for (const oldest of counts.keys()) {
        counts.delete(oldest);
        return;
      }
    },
    forget: (key) => void counts.delete(key),
  };
}
