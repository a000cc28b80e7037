import {
  type ApprovalAnswer,
  type AskedQuestion,
  type LiveView,
  questionOf,
} from "@holdfast/protocol";

export type OpenApproval = LiveView["approvals"][number];

/** The question, if the model asks one; `undefined` if it asks to run something. */
export function questionIn(approval: OpenApproval): AskedQuestion | undefined {
  return questionOf(approval, approval.input);
}

const maxAllowedLength = 20_000;
const maxAllowedLines = 300;
/** How a version before 0.3 said that it had left out the end. */
const cutByOlderHost = /\n\[\d+ more characters are not shown here[^\n]*\]$/;

/** Nobody may allow what they were not fully shown, or what is too long to be read in a terminal. */
export function allowedDecisions(approval: OpenApproval): readonly ApprovalAnswer[] {
  const { shown = "", hidden, onceOnly } = approval;
  const isWhole =
    hidden === undefined &&
    shown.length <= maxAllowedLength &&
    shown.split("\n").length <= maxAllowedLines &&
    !cutByOlderHost.test(shown);
  if (!isWhole) return ["deny"];
  return onceOnly === true ? ["once", "deny"] : ["once", "session", "always", "deny"];
}
