import { answerApproval } from "@holdfast/engine";
import type { SimHost } from "./host.ts";
import type { SimWorld } from "./world.ts";

/** A person looks at what is asked, says yes or no to one of it, and the host tells its runner. */
export async function answerOneApproval(
  { owner, scheduler }: SimWorld,
  { log, ids, runner }: SimHost,
): Promise<{ readonly status: string }> {
  const { chance } = scheduler;
  const { approvals } = await log.store.reads.approvals(owner, { limit: 10 });
  if (approvals.length === 0) return { status: "nothing" };
  const { id, session } = chance.pick(approvals);
  const decision = chance.pick(["once", "session", "always", "deny"] as const);
  const result = await answerApproval(log, ids, owner, id, decision);
  if (result.status === "answered" && chance.happens(0.8)) runner.notify(owner, session);
  return result;
}
