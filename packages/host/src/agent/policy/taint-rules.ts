import { isTainted, type TaintKind, taintKinds, type TaintSource } from "@holdfast/protocol";

import type { OperatorRule, Rule } from "./rule.ts";

/** `tainted`: whatever it came from. */
export type TaintCondition = TaintKind | "tainted";

const conditions: ReadonlySet<string> = new Set<TaintCondition>([...taintKinds, "tainted"]);

/** `when web or mcp` at the end of a rule. `null`: there is no such condition. */
export function parseCondition(
  text: string,
): { readonly rest: string; readonly when: readonly TaintCondition[] } | null {
  const found = /^(.+) when ([a-z]+(?: or [a-z]+)*)$/s.exec(text);
  const kinds = found?.[2]?.split(" or ") ?? [];
  if (found === null || !kinds.every(isCondition)) return null;
  return { rest: found[1] ?? "", when: kinds };
}

function isCondition(kind: string): kind is TaintCondition {
  return conditions.has(kind);
}

/** Whether a rule says something about a call in this context. */
export function appliesTo({ when }: OperatorRule, taint: readonly TaintSource[] = []): boolean {
  if (when === undefined) return true;
  return taint.some(({ kind }) => when.some((named) => named === "tainted" || named === kind));
}

/** A rule that covers more than one exact call. What a stranger wrote may have chosen which one. */
function isWide(rule: Rule): boolean {
  switch (rule.kind) {
    case "tool":
      return true;
    case "argv":
      return rule.rest === "any";
    case "path":
      return /(?<!\\)[*?[{]/.test(rule.pattern);
    case "host":
      return rule.host.startsWith("*.");
    case "shell":
      return false;
  }
}

/** Whether an allowing rule counts: a wide one does not after reading a stranger's text, unless it names that case. */
export function mayAllow(
  { rule, when }: Pick<OperatorRule, "rule" | "when">,
  taint: readonly TaintSource[] | undefined,
): boolean {
  return when !== undefined || !isTainted(taint) || !isWide(rule);
}
