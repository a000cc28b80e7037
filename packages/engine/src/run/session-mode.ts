import {
  defaultMode,
  isWiderMode,
  modeOf,
  narrowestMode,
  type Json,
  type OwnerId,
  type Part,
  type Rights,
  type SessionId,
  type SessionMode,
} from "@holdfast/protocol";
import type { Reads } from "../ports/reads.ts";
import type { SessionRow } from "../ports/rows.ts";
import type { Tool } from "../ports/tool.ts";

interface SessionRef {
  readonly owner: OwnerId;
  readonly session: SessionId;
}

/** The widest mode that a session may have, whatever it was given: a child's is that of its parent. */
export type ModeLimit = (session: SessionRef) => Promise<SessionMode>;

export interface ModeDeps {
  /** By default nothing limits a session's own mode. */
  readonly modeLimit?: ModeLimit | undefined;
}

/** What applies to a run's calls. */
export interface RunMode {
  readonly mode: SessionMode;
  /** Whether the session itself may leave plan mode, and so submit a plan. */
  readonly mayLeavePlan: boolean;
}

/**
 * The mode of a run, read again for each round of calls: a switch holds for every call that has not started. A message
 * whose sender answers no approvals gets nothing from a mode wider than `ask`.
 */
export async function modeOfRun(
  { modeLimit }: ModeDeps,
  reads: Pick<Reads, "session">,
  { owner, session }: SessionRef,
  rights: Pick<Rights, "approvals">,
): Promise<RunMode> {
  const [row, limit] = await Promise.all([
    reads.session(owner, session),
    modeLimit?.({ owner, session }),
  ]);
  // A session that is gone runs nothing; until its run notices, nothing is changed.
  const own = row === null ? "plan" : modeOf(row);
  const bounds = [
    ...(limit === undefined ? [] : [limit]),
    ...(rights.approvals ? [] : [defaultMode]),
  ];
  return {
    mode: narrowestMode(own, ...bounds),
    mayLeavePlan: limit === undefined || isWiderMode(limit, "plan"),
  };
}

/** A call counts as changing something unless its tool says that it only reads. */
export function onlyReads(tool: Tool, input: Json): boolean {
  try {
    return tool.onlyReads?.(input) === true;
  } catch {
    return false;
  }
}

/** As an event records it: a mode that is absent is `ask`. */
export function recordedMode(mode: SessionMode): { readonly mode?: SessionMode } {
  return mode === defaultMode ? {} : { mode };
}

/**
 * Tells the model, with each message, in which mode it works. P9: it is part of the message and stored as sent, so a
 * switch changes nothing that was sent before. A session that was never given a mode says nothing.
 */
export async function modeParts(
  { modeLimit }: ModeDeps,
  { owner, id: session, mode }: Pick<SessionRow, "owner" | "id" | "mode">,
  rights: Pick<Rights, "approvals">,
): Promise<readonly Part[]> {
  if (mode === null) return [];
  const limit = await modeLimit?.({ owner, session });
  const told = narrowestMode(mode, limit ?? mode, rights.approvals ? mode : defaultMode);
  return [{ type: "attached", source: "mode", text: modeTexts[told] }];
}

const modeTexts: Readonly<Record<SessionMode, string>> = {
  plan: "This session is in plan mode. Tools that change anything are refused: read what you need, and change nothing. When you know what is to be done, call submit_plan with the whole plan; a person approves it or answers with a comment.",
  ask: "This session is in ask mode. A person is asked before files are changed or commands are run.",
  edits:
    "This session is in the mode that accepts edits. Files of the workspace are changed without asking; a person is asked before commands are run.",
  full: "This session is in full mode. Files of the workspace are changed and commands are run in a sandbox without asking; a person is asked about network access and everything outside the sandbox.",
};
