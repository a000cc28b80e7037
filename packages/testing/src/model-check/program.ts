import { ids, type OwnerId } from "@holdfast/protocol";

import type { Commit, CommitResult, LeaseKind, Store } from "@holdfast/engine";
import { toFence, aHolder, anOwner, aRange, aRunId, toSeq } from "../fixtures/factories.ts";
import type { StoreHarness } from "../conformance/harness.ts";
import { assertSameJson } from "../fixtures/open-session.ts";
import { type Action, eventForAction } from "./actions.ts";
import { compareList, comparePage, compareSession } from "./compare.ts";
import type { ModelSession } from "./model-session.ts";
import { type CommitAttempt, ModelStore } from "./model-store.ts";
import { fillIn, rangesUpTo } from "./sketches.ts";
import type { Step } from "./steps.ts";

const hourMs = 3_600_000;

/** One program, run on a store and on the model side by side. */
export class Program {
  readonly #harness: StoreHarness;
  readonly #stores: readonly [Store, Store];
  readonly #model = new ModelStore();
  readonly #owners = [anOwner(), anOwner()] as const;
  readonly #holders = ["a", "b", "c"].map((nonce) => aHolder({ nonce }));
  readonly #sent: { attempt: CommitAttempt; commit: Commit }[] = [];
  readonly #prefix = ids.make("session");

  constructor(harness: StoreHarness, other: Store) {
    this.#harness = harness;
    this.#stores = [harness.store, other];
  }

  async run(steps: readonly Step[]): Promise<void> {
    try {
      await this.#create({ step: "create", owner: 0, branch: null, point: 0 });
      for (const step of steps) await this.#take(step);
      for (const session of this.#model.sessions.values()) await this.#compare(session);
    } finally {
      await this.#harness.advanceClock(-this.#model.now * hourMs);
    }
  }

  #take(step: Step): Promise<void> {
    switch (step.step) {
      case "create":
        return this.#create(step);
      case "commit":
        return this.#commit(step);
      case "lease":
        return this.#lease(step);
      case "resend":
        return this.#resend(step);
      case "purge":
        return this.#purge(step);
      case "list":
        return compareList(
          this.#stores[0],
          this.#model,
          this.#ownerAt(step.owner),
          step.query,
          step.limit,
        );
      case "page":
        return this.#page(step);
      case "prune":
        return this.#prune(step.limit);
      case "clock":
        this.#model.now += step.hours;
        return this.#harness.advanceClock(step.hours * hourMs);
    }
  }

  async #create({ owner: index, branch, point }: Extract<Step, { step: "create" }>): Promise<void> {
    const owner = this.#ownerAt(index);
    const session = ids.make("session");
    // Includes purged ones, which cannot be branched off.
    const own = [...this.#model.sessions.values()].filter((known) => known.owner === owner);
    const origin = branch === null ? undefined : own[branch % Math.max(1, own.length)];
    await this.#send({ owner, session, actions: [creationAction(origin, point)], quiet: false }, 0);
  }

  async #commit(step: Extract<Step, { step: "commit" }>): Promise<void> {
    const session = this.#pick(step.session);
    if (session === undefined) return;
    const actions = fillIn(step.sketches, { session, mark: this.#prefix });
    const { kind = "run", fence } = step.under ?? {};
    const last = session.fences.get(kind) ?? 0;
    const { revision, head, idle, uncompacted } = step.expect;
    await this.#send(
      {
        owner: step.by === "owner" ? session.owner : this.#otherOwnerOf(session),
        session: session.id,
        actions,
        quiet: step.touch === "quiet",
        ...(fence && last > 0 && { under: { kind, fence: Math.max(1, last + offset[fence]) } }),
        expect: {
          ...(revision !== undefined && { revision: session.revision - revision }),
          ...(head !== undefined && { head: toSeq(session.head - head) }),
          ...(idle && { idle }),
          ...(uncompacted && { uncompacted }),
        },
      },
      step.handle,
    );
  }

  async #send(given: Omit<CommitAttempt, "firstEvent">, handle: number): Promise<void> {
    const run = this.#model.sessions.get(given.session)?.live?.runId ?? aRunId();
    const events = given.actions.map((action) => eventForAction(action, run));
    const attempt: CommitAttempt = { ...given, firstEvent: events[0]!.id };
    const { under, expect } = attempt;
    const commit: Commit = {
      owner: attempt.owner,
      session: attempt.session,
      events,
      ...(under && { under: { lease: under.kind, fence: toFence(under.fence) } }),
      ...(expect && { expect }),
      ...(attempt.quiet && { touch: "quiet" }),
    };
    const status = await this.#deliver(attempt, commit, handle);
    // The seqs that a refused settlement names may belong to others by the time it is sent again.
    const settles = attempt.actions.some(
      (action) => action.do === "answer" && action.settles !== undefined,
    );
    if (status === "committed" || !settles) this.#sent.push({ attempt, commit });
  }

  async #deliver(attempt: CommitAttempt, commit: Commit, handle: number): Promise<string> {
    const store = this.#stores[handle % 2] ?? this.#stores[0];
    const activityAt = this.#model.sessions.get(attempt.session)?.row.activityAt ?? 0;
    const from = await store.now();
    const result = await store.commit(commit);
    const to = await store.now();
    const expected = this.#model.commit(attempt, result.status === "committed" ? result.at : 0);
    assertSameJson(comparableResult(result), expected, JSON.stringify(attempt.actions));
    if (result.status === "committed" && result.repeated === undefined) {
      const inTime =
        Math.max(from, activityAt) <= result.at && result.at <= Math.max(to, activityAt);
      assertSameJson(
        inTime,
        true,
        `${result.at} is not the time: ${from} to ${to}, activity ${activityAt}`,
      );
    }
    const session = this.#model.sessions.get(attempt.session);
    if (session !== undefined) await this.#compare(session);
    return result.status;
  }

  /** A settled delta may be deleted by now, and with it the memory of its commit. */
  async #resend({ which, handle }: Extract<Step, { step: "resend" }>): Promise<void> {
    const recent = this.#sent
      .filter(({ attempt }) => attempt.actions[0]?.do !== "stream")
      .slice(-8);
    const chosen = recent[which % Math.max(1, recent.length)];
    if (chosen !== undefined) await this.#deliver(chosen.attempt, chosen.commit, handle);
  }

  async #lease(step: Extract<Step, { step: "lease" }>): Promise<void> {
    const session = this.#pick(step.session);
    if (session === undefined) return;
    const { kind, hours, action } = step;
    const { leases } = this.#stores[step.handle] ?? this.#stores[0];
    const fence = Math.max(1, (session.fences.get(kind) ?? 0) - step.fence);
    const ref = { kind, session: session.id, fence: toFence(fence) };
    if (action === "release") {
      assertSameJson((await leases.release(ref)).status, this.#model.release(session, kind, fence));
    } else if (action === "renew") {
      const result = await leases.renew([ref], hours * hourMs);
      const lost = result.status === "renewed" && result.lost.length > 0 ? "lost" : result.status;
      assertSameJson(lost, this.#model.renew(session, kind, fence, hours));
    } else await this.#acquire(step, session, kind, action === "replace" ? fence : undefined);
    await this.#compare(session);
  }

  async #acquire(
    step: Extract<Step, { step: "lease" }>,
    session: ModelSession,
    kind: LeaseKind,
    replacing: number | undefined,
  ): Promise<void> {
    const { leases } = this.#stores[step.handle] ?? this.#stores[0];
    const holder = this.#holders[step.holder]!;
    const result = await leases.acquire({
      kind,
      session: session.id,
      holder,
      ttlMs: step.hours * hourMs,
      ...(replacing !== undefined && { replacing: toFence(replacing) }),
    });
    const answer = result.status === "acquired" ? result.lease.fence : result.status;
    const expected = session.trashed
      ? "refused"
      : this.#model.acquire(session, kind, holder.nonce, step.hours, replacing);
    assertSameJson(answer, expected);
  }

  async #purge({ session: index, by }: Extract<Step, { step: "purge" }>): Promise<void> {
    const trashed = this.#model.living().filter((candidate) => candidate.trashed);
    const session = trashed[index % Math.max(1, trashed.length)] ?? this.#pick(index);
    if (session === undefined) return;
    const owner = by === "owner" ? session.owner : this.#otherOwnerOf(session);
    const result = await this.#stores[0].purge(owner, session.id);
    const expected = this.#model.purge(owner, session.id);
    assertSameJson(result.status === "refused" ? result.code : result.status, expected);
    await this.#compare(session);
  }

  async #page({ session: index, before, limit }: Extract<Step, { step: "page" }>): Promise<void> {
    const session = this.#pick(index);
    if (session) await comparePage(this.#stores[1], this.#model, session, before, limit);
  }

  async #prune(limit: number): Promise<void> {
    assertSameJson((await this.#stores[0].prune(limit)).status, "pruned");
    for (const session of this.#model.sessions.values()) await this.#compare(session);
  }

  #compare(session: ModelSession): Promise<void> {
    return compareSession(this.#stores, this.#model, session);
  }

  #ownerAt(index: number): OwnerId {
    return this.#owners[index % 2] ?? this.#owners[0];
  }

  #otherOwnerOf(session: ModelSession): OwnerId {
    return this.#owners.find((owner) => owner !== session.owner) ?? anOwner();
  }

  /** Among the newest few, so that steps collide. */
  #pick(index: number): ModelSession | undefined {
    const newest = this.#model.living().slice(-4);
    return newest[index % Math.max(1, newest.length)];
  }
}

const offset = { held: 0, older: -1, newer: 1 } as const;

function creationAction(origin: ModelSession | undefined, point: number): Action {
  if (origin === undefined) return { do: "create", ranges: [aRange(1)] };
  const seq = toSeq(Math.max(1, origin.head - point));
  const ranges = [...rangesUpTo(origin, seq, origin.id), aRange(seq + 1)];
  return { do: "create", origin: { sessionId: origin.id, seq }, ranges };
}

function comparableResult(result: CommitResult): unknown {
  if (result.status !== "committed") return result.code;
  const { status: _, ...answer } = result;
  return answer;
}
