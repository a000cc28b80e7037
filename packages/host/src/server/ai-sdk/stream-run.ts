import type { ApprovalId, OwnerId, RunId, Seq, SessionId } from "@holdfast/protocol";
import type { UIMessageChunk } from "ai";
import type { ApiDeps } from "../api/deps.ts";
import type { EventStream } from "../http/event-stream.ts";
import { readRunOutput } from "../run-output/read-run-output.ts";
import { UiChunks } from "./ui-chunks.ts";

export interface StreamedRun {
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly runId: RunId;
  readonly begun: Seq;
  readonly mayAnswer: boolean;
  /** The client has the message up to where it was asked these; by default it has nothing of it. */
  readonly after?: ReadonlySet<ApprovalId>;
}

const done = "data: [DONE]\n\n";
const maxOpenApprovals = 100;

/** P5, P6: the message from its beginning, or from an answered approval on, to its end, whoever runs it. */
export async function streamRun(
  { engine, log }: Pick<ApiDeps, "engine" | "log">,
  { owner, session, runId, begun, mayAnswer, after }: StreamedRun,
  stream: EventStream,
): Promise<void> {
  const { reads } = log.store;
  const write = (made: readonly UIMessageChunk[]) =>
    made.length === 0 ? undefined : stream.write(made.map(frame).join(""));
  const chunks = new UiChunks({ mayAnswer });

  /** Whether the client is the one who is waited for now, and not only was at that time. */
  async function waitsForClient(): Promise<boolean> {
    if (chunks.asked.size === 0) return false;
    const { approvals } = await reads.approvals(owner, { session, limit: maxOpenApprovals });
    return approvals.some(({ id }) => chunks.asked.has(id));
  }

  let isNew = after === undefined;
  await write([UiChunks.start(runId)]);
  const query = { owner, session, runId, begun, signal: stream.signal };
  for await (const item of readRunOutput({ engine, reads }, query)) {
    const made = chunks.take(item);
    if (isNew) await write(made);
    const isResting =
      (item.kind === "state" && item.state === "waiting") ||
      (item.kind === "approval_asked" && item.approval.inCall === true);
    if (!isNew && isResting) isNew = [...(after ?? [])].every((id) => chunks.asked.has(id));
    const mayWait = isResting || item.kind === "approval_answered";
    if (isNew && mayWait && (await waitsForClient())) {
      await write(chunks.pause());
      break;
    }
  }
  await stream.write(done);
}

function frame(chunk: UIMessageChunk): string {
  return `data: ${JSON.stringify(chunk)}\n\n`;
}
