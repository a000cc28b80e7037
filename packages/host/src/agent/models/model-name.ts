/** Who answers. The rehearsal is built in and needs nobody. */
export const providers = ["anthropic", "openai", "google", "openai-compatible", "ollama"] as const;
export type Provider = (typeof providers)[number];

export type ModelName =
  | { readonly provider: "rehearsal" }
  | { readonly provider: Provider; readonly id: string };

export const rehearsal = "rehearsal";

/** What stands in HOLDFAST_MODEL and in a session: `rehearsal`, or a provider and its own name for a model. */
export function parseModelName(name: string): ModelName | null {
  if (name === rehearsal) return { provider: rehearsal };
  const slash = name.indexOf("/");
  const provider = providers.find((each) => each === name.slice(0, slash));
  const id = name.slice(slash + 1);
  return slash === -1 || provider === undefined || id === "" ? null : { provider, id };
}
