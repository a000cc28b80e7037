import type { PolicyDecision, PolicyQuestion, ToolPolicy } from "@holdfast/engine";
import { isTainted, type OwnerId, type SessionId, type TaintSource } from "@holdfast/protocol";

import { changedAfter, loadedFiles, sameFiles } from "./command-files.ts";
import { describeCall } from "./describe-call.ts";
import type { StoredRule, StoredRules } from "./stored-rules.ts";
import {
  type CallSubject,
  concerns,
  covers,
  isShell,
  isTooWide,
  type StartedCommand,
  startedCommands,
  subjectOf,
  suggestRules,
} from "./match-rules.ts";
import { formatRule, type OperatorRule, parseRule, parseToolRule, type Rule } from "./rule.ts";
import { coveredByMode } from "./mode-rules.ts";
import { appliesTo, mayAllow } from "./taint-rules.ts";

export type PolicyMode = "ask" | "read-only" | "trusted" | "deny";

export interface PolicyDeps {
  /** Like the rules, it is read for each decision: both can change while the host runs. */
  readonly mode: PolicyMode;
  /** The operator's rules, as configured. */
  readonly rules: readonly string[];
  readonly storedRules: Pick<StoredRules, "list" | "add">;
  /** When the conversation began that a session belongs to; `null` if there is no such session. */
  readonly begunAt: (owner: OwnerId, session: SessionId) => Promise<number | null>;
  /** Whether a sandbox confines commands here. By default none does. */
  readonly isConfined?: () => Promise<boolean>;
}

export type HostPolicy = Required<ToolPolicy> & {
  /** Why a person may not choose this rule for a call, or `null`. */
  readonly refuseRule: (rule: string, question: PolicyQuestion) => Promise<string | null>;
};

/** A call with what is known of it, found once for each decision. */
interface KnownCall {
  readonly question: PolicyQuestion;
  readonly subject: CallSubject | null;
  readonly commands: readonly StartedCommand[];
}

/**
 * Decides what may run. The operator's rules take precedence over the host's mode, and both over what people have
 * allowed, by a rule or by their session's mode: neither can allow what the operator denies or wants to be asked about.
 */
export function createPolicy(deps: PolicyDeps): HostPolicy {
  const { storedRules, begunAt, isConfined = async () => false } = deps;
  const operatorRules = (): readonly OperatorRule[] =>
    deps.rules.flatMap((text) => parseToolRule(text) ?? []);

  async function look(question: PolicyQuestion): Promise<KnownCall> {
    const subject = await subjectOf(question);
    return { question, subject, commands: await startedCommands(subject, question.place) };
  }

  async function decide(question: PolicyQuestion): Promise<PolicyDecision> {
    const call = await look(question);
    const { taint } = question;
    const { mode } = deps;
    const applicable = operatorRules().filter((rule) => appliesTo(rule, taint));
    const counting = applicable.filter((rule) => rule.effect !== "allow" || mayAllow(rule, taint));
    const byOperator = strictest(counting, call);
    if (byOperator?.effect === "deny" || mode === "deny") return { kind: "deny" };
    if (byOperator?.effect === "ask") return { kind: "ask", binding: true };
    if (question.asks === "question" || question.asks === "plan") return { kind: "ask" };
    if (byOperator?.effect === "allow" && !(await loadsChanges(question)))
      return { kind: "allow", rule: `configuration: ${formatRule(byOperator.rule)}` };
    if (question.asks === "none") return { kind: "allow" };
    if (mode === "read-only") return { kind: "deny" };
    if (mode === "trusted" && !isShell(call.subject) && !isTainted(taint))
      return { kind: "allow", rule: "trusted" };
    const byMode = await coveredByMode(question, call.subject, {
      operator: applicable,
      isConfined,
    });
    if (byMode.covered) {
      const { covered: _, ...allowed } = byMode;
      return { kind: "allow", ...allowed };
    }
    for (const kept of await storedRules.list(question.owner))
      if (await holds(kept, call)) return { kind: "allow", rule: kept.id };
    return { kind: "ask" };
  }

  /**
   * A rule for a command says nothing about files that were written since: `npm test` runs whatever `package.json` says
   * by now.
   */
  async function loadsChanges({ owner, session, place, files = [] }: PolicyQuestion) {
    if (files.length === 0 || place === undefined) return false;
    const begun = await begunAt(owner, session);
    return begun === null || changedAfter(place, files, begun);
  }

  async function holds(kept: StoredRule, { question, subject }: KnownCall): Promise<boolean> {
    const rule = parseRule(kept.rule);
    if (rule === null || !covers(rule, question, subject)) return false;
    if (!mayAllow({ rule }, question.taint)) return false;
    if (isTooWide(rule, question, subject)) return false;
    // Rules from before files were recorded are bound to none.
    if (kept.files === undefined) return !(await loadsChanges(question));
    return sameFiles(kept.files, question.files ?? []);
  }

  return {
    decide,
    async files(question) {
      return loadedFiles(await subjectOf(question), question.place);
    },
    async describe(question) {
      const { subject } = await look(question);
      // A wide rule would not count now.
      const offered = suggestRules(question, subject).filter((text) => {
        const parsed = parseRule(text);
        return parsed !== null && mayAllow({ rule: parsed }, question.taint);
      });
      const byMode = await coveredByMode(question, subject, {
        operator: operatorRules().filter((rule) => appliesTo(rule, question.taint)),
        isConfined,
      });
      const modeNotes = byMode.covered || byMode.note === undefined ? [] : [byMode.note];
      const notes = [...modeNotes, ...(await changesOf(question))];
      return {
        ...describeCall(question),
        ...(offered.length > 0 && { rules: [...offered] }),
        ...(notes.length > 0 && { notes: [...notes] }),
      };
    },
    async covers(rule, question) {
      const parsed = parseRule(rule);
      if (parsed === null || !mayAllow({ rule: parsed }, question.taint)) return false;
      const subject = await subjectOf(question);
      return covers(parsed, question, subject) && !isTooWide(parsed, question, subject);
    },
    async refuseRule(text, question) {
      const rule = parseRule(text);
      const subject = await subjectOf(question);
      if (rule === null || !covers(rule, question, subject))
        return "expected a rule that covers this call";
      if (!isTooWide(rule, question, subject)) return null;
      return "expected a rule that covers no more than can be shown here: one of those offered";
    },
    confines: async () => null,
    async taints(question) {
      const tainting = operatorRules().filter(({ effect }) => effect === "taint");
      if (tainting.length === 0) return [];
      const { subject, commands } = await look(question);
      return tainting
        .filter((rule) => appliesTo(rule, question.taint))
        .filter(({ rule }) => concerns(rule, question, subject, commands))
        .map(({ rule }) => taintBy(rule, subject));
    },
    async remember(rule) {
      // An approval that no rule can express holds for its session alone.
      if (rule.rule !== null) await storedRules.add({ ...rule, rule: rule.rule });
    },
  };

  /** What has changed since a rule for this very call was made. */
  async function changesOf(question: PolicyQuestion): Promise<readonly string[]> {
    const notes = new Set<string>();
    for (const kept of await storedRules.list(question.owner)) {
      const rule = parseRule(kept.rule);
      if (rule?.tool !== question.name) continue;
      if (
        rule.kind === "tool" &&
        question.identity !== undefined &&
        rule.identity !== question.identity
      )
        notes.add(
          `The server has changed its description of ${question.name} since it was always allowed, so that rule no longer applies.`,
        );
      const changed = kept.files?.find(
        ({ path, hash }) =>
          hash !== (question.files?.find((file) => file.path === path)?.hash ?? null),
      );
      if (changed !== undefined && covers(rule, question, await subjectOf(question)))
        notes.add(
          `${JSON.stringify(changed.path)} has changed since this was always allowed, so that rule no longer applies.`,
        );
    }
    return [...notes];
  }
}

function taintBy(rule: Rule, subject: CallSubject | null): TaintSource {
  if (rule.kind !== "path") return { kind: "web", name: formatRule(rule) };
  const path = subject?.kind === "paths" ? subject.paths[0] : undefined;
  return { kind: "file", name: path ?? rule.pattern };
}

const strictness = ["deny", "ask", "allow"] as const;

/** The strictest matching rule counts, in whatever order they are. */
function strictest(
  rules: readonly OperatorRule[],
  { question, subject, commands }: KnownCall,
): OperatorRule | undefined {
  const matching = rules.filter(({ effect, rule }) =>
    effect === "allow"
      ? covers(rule, question, subject)
      : concerns(rule, question, subject, commands),
  );
  return strictness
    .map((effect) => matching.find((rule) => rule.effect === effect))
    .find((rule) => rule !== undefined);
}
