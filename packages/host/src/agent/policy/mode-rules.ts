import type { PolicyQuestion } from "@holdfast/engine";
import { isTainted, isWiderMode, modeOf, modeWords } from "@holdfast/protocol";

import { type CallSubject, coversHosts, isEdit, isShell } from "./match-rules.ts";
import type { OperatorRule } from "./rule.ts";
import { grantedHosts } from "./trusted-hosts.ts";

export interface ModeCircumstances {
  /** The operator's rules that say something here. */
  readonly operator: readonly OperatorRule[];
  /** Whether a sandbox confines the commands of this host. */
  readonly isConfined: () => Promise<boolean>;
}

type ModeVerdict =
  | { readonly covered: true; readonly rule: string; readonly confined?: true }
  /** With what to tell the person who is asked, if the mode might have covered the call. */
  | { readonly covered: false; readonly note?: string };

const notCovered: ModeVerdict = { covered: false };

/**
 * Whether the session's mode lets a call run without asking. Like a wide rule, a mode does not count after the model has
 * read a stranger's text, and it covers nothing that an operator's rule denies or asks about.
 */
export async function coveredByMode(
  question: PolicyQuestion,
  subject: CallSubject | null,
  { operator, isConfined }: ModeCircumstances,
): Promise<ModeVerdict> {
  const mode = modeOf(question);
  const covers = isEdit(question, subject) ? "edits" : question.name === "terminal" ? "full" : null;
  if (covers === null || isWiderMode(covers, mode) || !isWiderMode(mode, "ask")) return notCovered;
  const { label } = modeWords[mode];
  if (isTainted(question.taint))
    return { covered: false, note: `The mode "${label}" does not count after such reading.` };
  if (covers === "edits") return { covered: true, rule: `mode: ${mode}` };
  if (subject?.kind !== "argv" && subject?.kind !== "shell")
    return {
      covered: false,
      note: `The mode "${label}" does not cover it: its folder cannot be seen.`,
    };
  if (!(await isConfined()))
    return {
      covered: false,
      note: `The mode "${label}" does not cover it: no sandbox confines it.`,
    };
  if (subject.publishes === true || !coversHosts(grantedHosts(operator), subject))
    return { covered: false, note: `The mode "${label}" does not cover its network access.` };
  if (isShell(subject) && operator.some(namesCommands))
    return {
      covered: false,
      note: `The mode "${label}" does not cover shells here: the operator's rules about commands cannot look inside.`,
    };
  return { covered: true, rule: `mode: ${mode}`, confined: true };
}

/** A rule that has to recognise a command by its words. */
function namesCommands({ effect, rule }: OperatorRule): boolean {
  return (
    (effect === "ask" || effect === "deny") &&
    rule.tool === "terminal" &&
    (rule.kind === "argv" || rule.kind === "shell")
  );
}
