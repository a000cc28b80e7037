import { columnText } from "@holdfast/protocol";

import { holdsForSession, type Log } from "../log/index.ts";
import type { ApprovalRow, ModelCall, Tool, ToolCall, ToolPolicy } from "../ports/index.ts";
import { hashOf } from "./hash.ts";
import type { RunHandle } from "./run-handle.ts";

/** What becomes of a call that nobody has begun: it runs, a person is asked, or the model is told why it was not run. */
export type Verdict =
  | { readonly kind: "run"; readonly place?: string }
  | { readonly kind: "ask"; readonly inputHash: string; readonly place?: string }
  | { readonly kind: "refused" | "failed"; readonly words: string };

export interface VerdictDeps {
  readonly log: Log;
  readonly toolPolicy?: ToolPolicy;
}

export const refusals = {
  denied:
    "A person did not allow this, so it was not run. Do not try to reach the same another way.",
  expired: "Nobody answered whether this is allowed, so it was not run.",
  forbidden: "This is not allowed here, so it was not run.",
  changed: "This is not what was allowed, so it was not run.",
  cancelled: "The run ended before this was begun, so it was not run.",
} as const;

/** Asks exactly what the tools say. */
const asTheToolsSay: ToolPolicy = {
  decide: async ({ asks }) => (asks === "ask" ? "ask" : "allow"),
  remember: async () => {},
};

/** An approval is about a tool, its very arguments and where it works: a call with others has another hash. */
function hashCall(
  { name, input }: Pick<ModelCall, "name" | "input">,
  place: { readonly place?: string },
): Promise<string> {
  return hashOf({ name, input, ...place });
}

/** Where the call works, in a field of its own where the tool has something to say; or why it cannot. */
export async function placeOf(
  tool: Tool,
  call: ToolCall,
): Promise<{ readonly place?: string } | { readonly words: string }> {
  if (tool.place === undefined) return {};
  try {
    return { place: await tool.place(call) };
  } catch (error) {
    return { words: error instanceof Error ? error.message : String(error) };
  }
}

/** The verdict on each call, from the policy and from what people have said in this session. */
export async function sortCalls(
  deps: VerdictDeps,
  run: RunHandle,
  calls: readonly { readonly call: ModelCall; readonly tool: Tool }[],
): Promise<readonly Verdict[]> {
  const { toolPolicy = asTheToolsSay } = deps;
  if (calls.length === 0) return [];
  const { owner, session, runId } = run;
  const said = await deps.log.store.reads.approvalsFor(owner, session, runId);
  return Promise.all(
    calls.map(async ({ call, tool }): Promise<Verdict> => {
      const { callId, name, input } = call;
      const place = await placeOf(tool, { owner, session, runId, callId, input });
      if ("words" in place) return { kind: "failed", words: place.words };
      const inputHash = await hashCall(call, place);
      // One that was withdrawn binds nobody; its call is asked for anew.
      const own = said.findLast((row) => row.callId === callId && row.state !== "withdrawn");
      if (own !== undefined) return followWord(toolPolicy, own, inputHash, place);
      const asks = asksOf(tool, call);
      const question = { owner, session, runId, callId, name, input, asks, ...place };
      const decided = await toolPolicy.decide(question).catch(() => "ask" as const);
      if (decided === "allow") return { kind: "run", ...place };
      if (decided === "deny") return { kind: "refused", words: refusals.forbidden };
      const isCovered = said.some(
        (row) => row.tool === columnText(name) && holdsForSession(row.decision),
      );
      return isCovered ? { kind: "run", ...place } : { kind: "ask", inputHash, ...place };
    }),
  );
}

/** A tool that cannot say whether it needs a person needs one. */
function asksOf(tool: Tool, { input }: ModelCall): "none" | "ask" {
  try {
    return tool.approval?.(input) ?? "none";
  } catch {
    return "ask";
  }
}

async function followWord(
  policy: ToolPolicy,
  { decision, inputHash, tool, owner }: ApprovalRow,
  actual: string,
  place: { readonly place?: string },
): Promise<Verdict> {
  // P7: what was allowed is allowed with these arguments, in this place, and no others.
  if (inputHash !== actual) return { kind: "refused", words: refusals.changed };
  switch (decision) {
    case "always":
      // Before the call runs, so that a crash makes it remembered twice rather than not at all.
      await policy.remember({ owner, tool }).catch(() => {});
      return { kind: "run", ...place };
    case "once":
    case "session":
      return { kind: "run", ...place };
    case "deny":
      return { kind: "refused", words: refusals.denied };
    case "expired":
      return { kind: "refused", words: refusals.expired };
    case null:
      return { kind: "refused", words: refusals.cancelled };
  }
}
