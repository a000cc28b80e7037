import { parseModelName } from "./model-info.ts";

/** Words whose capitals do not follow from the rule. */
const spelled: Readonly<Record<string, string>> = { gpt: "GPT" };

/** The name as its provider writes it, like "Claude Opus 5.5" or "GPT-6.1 Sol". Names of other servers are left alone. */
export function titleOf(name: string): string | null {
  const parsed = parseModelName(name);
  if (parsed === null) return null;
  if (parsed.provider === "rehearsal") return "Rehearsal";
  if (parsed.provider === "openai-compatible" || parsed.provider === "ollama") return null;
  const words = parsed.id
    // Anthropic writes 5.5 as 5-5.
    .replace(/(?<=-\d)-(?=\d(?:-|$))/g, ".")
    .split("-")
    .map((word) => spelled[word] ?? word.charAt(0).toUpperCase() + word.slice(1));
  return words.join(" ").replace(/^GPT /, "GPT-");
}
