import type { ApprovalAnswer, LiveView } from "@holdfast/protocol";
import type { Look } from "../screen/index.ts";
import { block, describeCall } from "../talk/index.ts";

export type OpenApproval = LiveView["approvals"][number];

const decisions: Readonly<Record<string, ApprovalAnswer>> = {
  o: "once",
  y: "once",
  yes: "once",
  once: "once",
  s: "session",
  session: "session",
  a: "always",
  always: "always",
  d: "deny",
  n: "deny",
  no: "deny",
  deny: "deny",
};

/** A person's word in the letters that they typed; nothing is taken for a yes that is none. */
export function decisionFrom(typed: string): ApprovalAnswer | undefined {
  const word = typed.trim().toLowerCase();
  return Object.hasOwn(decisions, word) ? decisions[word] : undefined;
}

/** Exactly what would run, and where, and how to say yes or no. */
export function approvalRows({ name, input, place }: OpenApproval, look: Look): string[] {
  const where = place === undefined ? "" : `\nin ${place}`;
  return [
    "",
    look.paint("bold", "May this run?"),
    ...block(describeCall(name, input) + where, look, "  ", ["accent"]),
    look.paint("dim", "o once · s for this session · a always · d deny"),
  ];
}
