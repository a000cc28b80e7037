import type { RunView } from "@holdfast/protocol";

const retryTexts: Readonly<Record<string, string>> = {
  model_overloaded: "The provider asked to wait; it is asked again soon.",
  model_unavailable: "The provider could not answer; it is asked again soon.",
  model_silent: "The provider fell silent; it is asked again soon.",
};

/** Why nothing comes while a run works: a failure in passing, and the model is about to be asked again. */
export function describeRetry({ state, cause }: Pick<RunView, "state" | "cause">): string | null {
  if (state !== "running" || cause === null) return null;
  return retryTexts[cause] ?? "The model failed for a moment; it is asked again soon.";
}
