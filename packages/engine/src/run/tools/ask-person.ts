import type { CallId, JsonObject } from "@holdfast/protocol";
import { sha256OfJson } from "../../hash.ts";
import { type Log } from "../../log/log.ts";
import type { Clock } from "../../ports/clock.ts";
import type { PersonsAnswer, ToolQuestion } from "../../ports/tool.ts";
import { expireApproval } from "../answer-approval.ts";
import type { RunHandle } from "../run-handle.ts";

export interface AskPersonDeps {
  readonly log: Log;
  readonly clock: Clock;
}

/** An answer may be stored by another process. */
const pollMs = 250;

/**
 * Asks a person while a call goes on. The question is an approval like any other, so it is durable before anybody sees
 * it, and every surface shows it. If the runner dies, whoever takes the run over closes it: nobody would read an answer.
 */
export async function askPerson(
  { log, clock }: AskPersonDeps,
  run: RunHandle,
  call: { readonly callId: CallId; readonly name: string },
  { input, timeLimitMs, signal: wanted }: ToolQuestion,
): Promise<PersonsAnswer> {
  const { callId, name } = call;
  const { owner } = run;
  const approvalId = run.ids.make("approval");
  const inputHash = await hashQuestion(name, input);
  const asked = run.event("approval.asked", {
    approvalId,
    callId,
    name,
    input,
    inputHash,
    kind: "question",
    inCall: true,
  });
  if (run.signal.aborted || (await run.write([asked])) === null) return { status: "stopped" };
  const signal = wanted === undefined ? run.signal : AbortSignal.any([run.signal, wanted]);
  const until = clock.now() + timeLimitMs;
  for (;;) {
    const answer = await readAnswer();
    if (answer !== null) return answer;
    // The end of the run closes the question, or the take-over does.
    if (run.signal.aborted) return { status: "stopped" };
    if (signal.aborted || clock.now() >= until) return (await close()) ?? { status: "expired" };
    await clock.sleep(Math.min(pollMs, Math.max(0, until - clock.now())), signal);
  }

  async function readAnswer(): Promise<PersonsAnswer | null> {
    // While the store is away nobody can answer either.
    const row = await log.store.reads.approval(owner, approvalId).catch(() => undefined);
    if (row === undefined || row?.state === "open") return null;
    if (row === null || row.state === "withdrawn") return { status: "stopped" };
    if (row.decision === "expired") return { status: "expired" };
    const { answer } = row.details;
    return row.decision === "deny" || answer === undefined
      ? { status: "declined" }
      : { status: "answered", answer };
  }

  /** Somebody may have answered at this very moment: then that counts. */
  async function close(): Promise<PersonsAnswer | null> {
    const closed = await expireApproval(log, run.ids, owner, approvalId).catch(() => null);
    return closed?.status === "refused" ? readAnswer() : null;
  }
}

function hashQuestion(name: string, input: JsonObject): Promise<string> {
  return sha256OfJson({ name, input });
}
