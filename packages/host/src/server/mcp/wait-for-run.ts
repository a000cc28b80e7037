import type { RunRow } from "@holdfast/engine";
import { decodeEvent, type OwnerId, type Seq, type StoredEvent } from "@holdfast/protocol";
import type { ServerContext } from "@modelcontextprotocol/server";
import type { ApiDeps } from "../api/deps.ts";

const progressIntervalMs = 1_000;

export interface RunWait {
  readonly run: Pick<RunRow, "id" | "session">;
  /** What happened up to here is known. */
  readonly after: Seq;
  readonly maxMs: number;
}

/**
 * Follows the run until it ends, asks for an answer or the time is up, and reports progress to clients that want it.
 * A client that leaves ends only its own waiting.
 */
export async function waitForRun(
  { engine, clock, stopping }: Pick<ApiDeps, "engine" | "clock" | "stopping">,
  owner: OwnerId,
  { run, after, maxMs }: RunWait,
  ctx: ServerContext,
): Promise<void> {
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, stopping, ctx.mcpReq.signal]);
  void clock.sleep(maxMs, signal).then(() => over.abort());
  const report = createProgress(ctx);
  const followed = { owner, session: run.session, after, until: run.id, signal };
  try {
    for await (const item of engine.follow(followed)) {
      if (item.kind === "gone") return;
      if (item.kind !== "events") continue;
      for (const event of item.events) {
        if (event.runId !== run.id) continue;
        report(event);
        if (isWaiting(event)) return;
      }
    }
  } finally {
    over.abort();
  }
}

function isWaiting(event: StoredEvent): boolean {
  if (event.type === "approval.asked") return event.data["inCall"] === true;
  return event.type === "run.state" && event.data["state"] === "waiting";
}

/** One notification a second at most. */
function createProgress({ mcpReq }: ServerContext): (event: StoredEvent) => void {
  const { _meta: meta } = mcpReq;
  const token = meta?.progressToken;
  if (token === undefined) return () => undefined;
  let written = 0;
  let lastAt = 0;
  return (event) => {
    const decoded = decodeEvent(event);
    if (decoded.kind !== "known") return;
    const { type, data } = decoded.event;
    if (type === "message.delta") written += data.text.length;
    if (type === "message.delta" && event.at - lastAt < progressIntervalMs) return;
    if (type !== "message.delta" && type !== "tool.started") return;
    lastAt = event.at;
    const message = type === "tool.started" ? `Runs ${data.name}` : `Wrote ${written} characters`;
    void mcpReq
      .notify({
        method: "notifications/progress",
        params: { progressToken: token, progress: event.seq, message },
      })
      .catch(() => undefined);
  };
}
