import type { PolicyDecision, PolicyQuestion, ToolPolicy } from "@holdfast/engine";

import { describeCall } from "./describe-call.ts";
import type { StoredRules } from "./stored-rules.ts";
import {
  concerns,
  covers,
  isShell,
  type CallSubject,
  subjectOf,
  suggestRules,
} from "./match-rules.ts";
import { formatRule, type OperatorRule, parseRule, parseToolRule } from "./rule.ts";

export type PolicyMode = "ask" | "read-only" | "trusted" | "deny";

export interface PolicyDeps {
  readonly mode: PolicyMode;
  /** The operator's rules, as configured. */
  readonly rules: readonly string[];
  readonly storedRules: Pick<StoredRules, "list" | "add">;
}

export type HostPolicy = Required<ToolPolicy>;

/**
 * Decides what may run. The operator's rules take precedence over the mode, and the mode over what people have allowed:
 * a person's "always" cannot allow what the operator denies.
 */
export function createPolicy({ mode, rules, storedRules }: PolicyDeps): HostPolicy {
  const operator = rules.map(parseToolRule).filter((rule) => rule !== null);

  async function decide(question: PolicyQuestion): Promise<PolicyDecision> {
    const subject = await subjectOf(question);
    const byOperator = strictest(operator, question.name, subject);
    if (byOperator?.effect === "deny" || mode === "deny") return { kind: "deny" };
    if (question.asks === "question" || byOperator?.effect === "ask") return { kind: "ask" };
    if (byOperator?.effect === "allow")
      return { kind: "allow", rule: `configuration: ${formatRule(byOperator.rule)}` };
    if (question.asks === "none") return { kind: "allow" };
    if (mode === "read-only") return { kind: "deny" };
    if (mode === "trusted" && !isShell(subject)) return { kind: "allow", rule: "trusted" };
    for (const { id, rule } of await storedRules.list(question.owner)) {
      const parsed = parseRule(rule);
      if (parsed !== null && covers(parsed, question.name, subject))
        return { kind: "allow", rule: id };
    }
    return { kind: "ask" };
  }

  return {
    decide,
    async describe(question) {
      const offered = suggestRules(question.name, await subjectOf(question));
      return { shown: describeCall(question), ...(offered.length > 0 && { rules: [...offered] }) };
    },
    async covers(rule, question) {
      const parsed = parseRule(rule);
      return parsed !== null && covers(parsed, question.name, await subjectOf(question));
    },
    async remember(rule) {
      // An approval that no rule can express holds for its session alone.
      if (rule.rule !== null) await storedRules.add({ ...rule, rule: rule.rule });
    },
  };
}

const strictness = ["deny", "ask", "allow"] as const;

/** The strictest matching rule counts, in whatever order they are. */
function strictest(
  rules: readonly OperatorRule[],
  name: string,
  subject: CallSubject | null,
): OperatorRule | undefined {
  const matching = rules.filter(({ effect, rule }) =>
    (effect === "allow" ? covers : concerns)(rule, name, subject),
  );
  return strictness
    .map((effect) => matching.find((rule) => rule.effect === effect))
    .find((rule) => rule !== undefined);
}
