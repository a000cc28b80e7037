import {
  branch,
  type BranchResult,
  clear,
  duplicate,
  type HistoryResult,
  type HistoryTarget,
  interruptThen,
  listAlternatives,
  redo,
  retry,
  switchAlternative,
  truncate,
  undo,
  viewSession,
} from "@holdfast/engine";
import type { SessionId } from "@holdfast/protocol";

import type { Route } from "../http/routing.ts";
import {
  answer,
  type AnswerOf,
  type Call,
  mountCall,
  mountRead,
  problem,
  problemFrom,
  type Reply,
} from "./endpoint.ts";
import type { ApiDeps } from "./deps.ts";
import { modelProblem } from "./models.ts";

type Command = Pick<Call<"undo">, "owner" | "ids" | "params"> & {
  readonly body: Pick<Call<"undo">["body"], "expectedHead" | "interrupt">;
};

/** Each command takes its ids from its request, so it is carried out once however often it is sent. */
export function historyRoutes(deps: ApiDeps): Route[] {
  const { log, engine, memory } = deps;
  const { reads } = log.store;
  const commandDeps = ({ ids }: Command) => ({ log, ids });

  /** Runs the command, first ending a live run if the request says so. */
  async function carryOut<R extends { readonly status: string }>(
    { owner, params, body, ids }: Command,
    act: (target: HistoryTarget) => Promise<R>,
  ) {
    const { expectedHead, interrupt } = body;
    const target = { owner, session: params.id, expectedHead, command: ids.make("event") };
    return interrupt === true
      ? interruptThen({ ...deps, runner: engine }, target, act)
      : act(target);
  }

  async function cut(
    command: Command,
    act: (target: HistoryTarget) => Promise<HistoryResult>,
  ): Promise<Reply<AnswerOf<"undo">>> {
    const result = await carryOut(command, act);
    if (result.status !== "committed") return problemFrom(result);
    const row = await reads.session(command.owner, command.params.id);
    if (row === null) return problem("session_not_found");
    return answer({ session: viewSession(row), seq: result.last });
  }

  async function retryMessage(call: Call<"retry">) {
    const { from, text, attachments, model } = call.body;
    const invalidModel = modelProblem(deps.models, model);
    if (invalidModel !== null) return invalidModel;
    const content = { from, text, attachments, model, clientId: call.ids.make("message") };
    const result = await carryOut(call, (target) => retry(commandDeps(call), target, content));
    if (result.status !== "accepted") return problemFrom(result);
    engine.notify(call.owner, call.params.id);
    const { messageId, runId, seq } = result;
    return answer({ messageId, runId, seq });
  }

  async function branchOff(
    command: Command,
    act: (target: HistoryTarget, session: SessionId) => Promise<BranchResult>,
  ): Promise<Reply<AnswerOf<"branch">>> {
    const session = command.ids.make("session");
    const result = await carryOut(command, (target) => act(target, session));
    if (result.status !== "branched") return problemFrom(result);
    const row = await reads.session(command.owner, session);
    return row === null ? problem("session_not_found") : answer({ session: viewSession(row) });
  }

  return [
    mountCall(deps, "undo", (call) =>
      cut(call, (target) => undo(commandDeps(call), target, call.body.turns)),
    ),
    mountCall(deps, "redo", (call) => cut(call, (target) => redo(commandDeps(call), target))),
    mountCall(deps, "truncate", (call) =>
      cut(call, (target) => truncate(commandDeps(call), target, call.body.from)),
    ),
    mountCall(deps, "clear", async (call) => {
      const reply = await cut(call, (target) => clear(commandDeps(call), target));
      // Not awaited, and after the cut, when the session is unlocked: nobody waits for a memory provider.
      void memory.boundary(call.owner, call.params.id, "clear");
      return reply;
    }),
    mountCall(deps, "retry", retryMessage),
    mountRead(deps, "listAlternatives", async ({ owner, params }) => {
      const turns = await listAlternatives(reads, owner, params.id);
      if (turns === null) return problem("session_not_found");
      return answer({ turns: turns.map((alternatives) => ({ alternatives: [...alternatives] })) });
    }),
    mountCall(deps, "switchAlternative", (call) =>
      cut(call, (target) => switchAlternative(commandDeps(call), target, call.body.messageId)),
    ),
    mountCall(deps, "branch", (call) =>
      branchOff(call, (target, session) =>
        branch(commandDeps(call), target, { ...call.body, session }),
      ),
    ),
    mountCall(deps, "duplicate", (call) =>
      branchOff(call, (target, session) =>
        duplicate(commandDeps(call), target, { ...call.body, session }),
      ),
    ),
  ];
}
