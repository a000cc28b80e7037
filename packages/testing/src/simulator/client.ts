import { type Actor, createActor } from "./scheduler.ts";
import { hostGone, type SimHost } from "./host.ts";
import type { SimWorld } from "./world.ts";
import { answerApproval } from "@holdfast/engine";

/** No answer came: the host is gone, none was up, or it took too long. The request may have been carried out. */
export const noAnswer = Symbol("unheard");

/** A client that talks to whichever host answers. */
export class SimClient {
  readonly actor: Actor;
  readonly world: SimWorld;

  constructor(world: SimWorld, name: string) {
    this.world = world;
    this.actor = createActor(name);
  }

  async pause(maxAnswerMs: number): Promise<void> {
    const { scheduler } = this.world;
    await scheduler.sleep(scheduler.chance.between(0, maxAnswerMs), this.actor, "goes on");
  }

  /** Asks any host. Sometimes the client gives up before the answer, and the host works on. */
  async ask<T>(what: string, work: (host: SimHost) => Promise<T>): Promise<T | typeof noAnswer> {
    const { scheduler } = this.world;
    const host = this.world.aHost();
    if (host === null) return noAnswer;
    scheduler.note(this.actor, `asks ${host.name}: ${what}`);
    const asked = host.ask(() => work(host));
    const patience = scheduler.chance.happens(0.15) ? scheduler.chance.between(0, 500) : 60_000;
    const { promise, resolve } = Promise.withResolvers<typeof noAnswer>();
    const over = scheduler.after(patience, this.actor, "gives up waiting", () => resolve(noAnswer));
    const answer = await Promise.race([asked, promise]);
    scheduler.cancel(over);
    return answer === hostGone ? noAnswer : answer;
  }
}

/** A person looks at the open approvals, answers one, and the host notifies its runner. */
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
