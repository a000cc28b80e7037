import { randomUUID } from "node:crypto";

import type { Client } from "@holdfast/client";
import type { RunState, SessionId } from "@holdfast/protocol";
import type { FakeBotApi } from "@holdfast/testing/telegram/fake-bot-api";
import type { SeededRandom } from "@holdfast/testing/simulator/scheduler";

export interface TrafficDeps {
  /** Never killed: everything is followed and measured through it. */
  readonly steady: Client;
  /** The other host; it may be dead. */
  readonly other: () => Client;
  readonly platform: FakeBotApi;
  readonly chance: SeededRandom;
}

const sessionsPerWorker = 3;
const messagesPerSession = 20;
const chats = [1, 2, 3];
/** Longer than a take-over after a kill needs; a run that takes longer hangs. */
const maxRunMs = 60_000;

/** One person: talks, lets tools run, answers questions, branches, searches and writes to the bot. */
export class TrafficWorker {
  readonly #deps: TrafficDeps;
  readonly #sessions: { readonly id: SessionId; messages: number }[] = [];
  readonly counts: Record<string, number> = {};
  readonly problems: string[] = [];
  acceptMs: number[] = [];
  searchMs: number[] = [];

  constructor(deps: TrafficDeps) {
    this.#deps = deps;
  }

  async workUntil(over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      const kind = this.#deps.chance.pick(kinds);
      this.counts[kind] = (this.counts[kind] ?? 0) + 1;
      await this.#act(kind);
    }
  }

  async #act(kind: (typeof kinds)[number]): Promise<void> {
    switch (kind) {
      case "message":
        return this.#ask("{rate:300} {words:20} about kelp");
      case "stream":
        return this.#ask("{rate:100} {words:60}");
      case "tool":
        return this.#ask("{tool:clock}{words:5}");
      case "approval":
        return this.#ask(`{tool:terminal ${JSON.stringify({ command: "true" })}}{words:3}`);
      case "branch":
        return this.#branch();
      case "search":
        return this.#search();
      case "update":
        this.#deps.platform.say(this.#deps.chance.pick(chats), "{rate:200} {words:10}");
        return undefined;
    }
  }

  async #search(): Promise<void> {
    const startedAt = performance.now();
    const found = await this.#deps.steady.search({ query: { q: "kelp", limit: 20 } });
    this.searchMs.push(performance.now() - startedAt);
    if (!found.ok) this.problems.push(`search: ${JSON.stringify(found.error)}`);
  }

  async #ask(text: string): Promise<void> {
    const session = await this.#session();
    if (session === undefined) return;
    const { steady, other, chance } = this.#deps;
    const params = { id: session.id };
    const body = { clientId: randomUUID(), text };
    const elsewhere = chance.next() < 0.3 ? await other().sendMessage({ params, body }) : undefined;
    // The other host may be gone: the same message is sent again, and counts once.
    if (elsewhere?.ok !== true) {
      const startedAt = performance.now();
      const sent = await steady.sendMessage({ params, body });
      this.acceptMs.push(performance.now() - startedAt);
      if (!sent.ok) return void this.problems.push(`message: ${JSON.stringify(sent.error)}`);
    }
    session.messages += 1;
    await this.#follow(session.id);
  }

  /** Waits until the run has ended, and answers its questions. */
  async #follow(id: SessionId): Promise<void> {
    const { steady } = this.#deps;
    const late = AbortSignal.timeout(maxRunMs);
    let last: RunState | undefined;
    for await (const item of steady.open(id, { signal: late })) {
      if (item.kind === "ended") break;
      if (item.kind !== "state") continue;
      const { run, inbox } = item.state;
      last = run?.state;
      if (run !== null && run.endedAt !== null && inbox.length === 0) return;
      if (run?.state === "waiting") await this.#approve(id);
    }
    this.problems.push(`A run of ${id} did not end: its state is ${last ?? "unknown"}.`);
  }

  async #approve(session: SessionId): Promise<void> {
    const { steady } = this.#deps;
    const listed = await steady.listApprovals();
    if (!listed.ok) return;
    for (const { approvalId, sessionId } of listed.value.approvals)
      if (sessionId === session)
        await steady.answerApproval({ params: { id: approvalId }, body: { decision: "once" } });
  }

  async #branch(): Promise<void> {
    const { steady } = this.#deps;
    const session = await this.#session();
    if (session === undefined) return;
    const made = await steady.branch({ params: { id: session.id }, body: {} });
    if (!made.ok) return void this.problems.push(`branch: ${JSON.stringify(made.error)}`);
    const { id } = made.value.session;
    const sent = await steady.sendMessage({
      params: { id },
      body: { clientId: randomUUID(), text: "{rate:300} {words:10}" },
    });
    if (sent.ok) await this.#follow(id);
    await steady.trashSession({ params: { id } });
  }

  /** Conversations end after a while, so that the data a request touches stays the same. */
  async #session() {
    const { steady, chance } = this.#deps;
    if (this.#sessions.length === sessionsPerWorker) {
      const picked = chance.pick(this.#sessions);
      if (picked.messages < messagesPerSession) return picked;
      this.#sessions.splice(this.#sessions.indexOf(picked), 1);
      await steady.trashSession({ params: { id: picked.id } });
    }
    const made = await steady.createSession({ body: {} });
    if (!made.ok) return void this.problems.push(`session: ${JSON.stringify(made.error)}`);
    const session = { id: made.value.session.id, messages: 0 };
    this.#sessions.push(session);
    return session;
  }
}

const kinds = [
  "message",
  "message",
  "stream",
  "tool",
  "approval",
  "branch",
  "search",
  "search",
  "update",
] as const;
