import { setTimeout as rest } from "node:timers/promises";

import { writeScript } from "./scripted-agent.ts";
import type { KnownSessions, KnownSession } from "./known-sessions.ts";
import type { History } from "./history.ts";
import type { Endpoint } from "./managed-process.ts";
import type { ClientResponse, ClientRequest } from "./protocol.ts";
import type { SeededRandom } from "@holdfast/testing/simulator/scheduler";

export interface ClientOptions {
  readonly name: string;
  readonly knownSessions: KnownSessions;
  readonly endpoints: readonly Endpoint[];
  readonly history: History;
  readonly chance: SeededRandom;
  /** How many sessions are in use at a time. */
  readonly sessions: number;
  /** What a message asks for. */
  readonly script?: (chance: SeededRandom) => string;
}

const maxSent = 25;
const maxOpen = 4;

/** A client that uses all sessions through all endpoints, and repeats what wasn't answered. */
export class ChaosClient {
  readonly #options: ClientOptions;
  #sent = 0;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** Talks until told to stop, and then until everything it has sent is answered. */
  async talk(stop: AbortSignal): Promise<void> {
    const { chance } = this.#options;
    while (!stop.aborted) {
      await this.#act();
      await rest(chance.between(10, 250));
    }
  }

  async #act(): Promise<void> {
    const { knownSessions, chance, sessions } = this.#options;
    if (knownSessions.active.length < sessions) return this.#begin();
    const session = chance.pick(knownSessions.active);
    if (session.isTrashed)
      return void (await this.#askOnce({ act: "restore", session: session.id }));
    const dice = chance.next();
    if (session.approvals.size > 0 && dice < 0.5) return this.#answer(session);
    if (dice < 0.62) return this.#send(session);
    if (dice < 0.74) return this.#cancel(session);
    if (dice < 0.79) return this.#retry(session);
    if (dice < 0.82) return this.#truncate(session);
    if (dice < 0.85) return this.#branch(session);
    const act = chance.pick([
      "undo",
      "undo",
      "redo",
      "redo",
      "trash",
      "clear",
      "read",
      "read",
    ] as const);
    const answer = await this.#askOnce({ act, session: session.id });
    if (act === "trash" && answer.kind === "done") session.isTrashed = true;
  }

  async #begin(): Promise<void> {
    const { knownSessions } = this.#options;
    const answer = await this.#askOnce({ act: "create" });
    if (answer.kind === "done" && answer.session !== undefined) knownSessions.add(answer.session);
  }

  async #send(session: KnownSession): Promise<void> {
    const { knownSessions, chance, name, script = writeScript } = this.#options;
    if (session.open.size >= maxOpen) return;
    const clientId = `${name}-${(this.#sent += 1)}`;
    const mode = chance.pick(["queue", "queue", "queue", "steer", "interrupt"] as const);
    const text = `${clientId} ${script(chance)}`;
    const request: ClientRequest = { act: "send", session: session.id, clientId, text, mode };
    const answer = await this.#askUntilAnswered(request);
    if (answer.kind === "done" && answer.runId !== undefined) session.open.add(answer.runId);
    // A client that isn't sure whether it has sent a message sends it again.
    if (answer.kind === "done" && chance.next() < 0.15) await this.#askOnce(request);
    session.sent += 1;
    if (session.sent >= maxSent) knownSessions.retire(session);
  }

  async #cancel(session: KnownSession): Promise<void> {
    const [runId] = session.open;
    if (runId === undefined) return;
    const request: ClientRequest = { act: "cancel", session: session.id, runId };
    await this.#askOnce(request);
    if (this.#options.chance.next() < 0.3) await this.#askOnce(request);
  }

  async #answer(session: KnownSession): Promise<void> {
    const { chance } = this.#options;
    const [approvalId] = session.approvals;
    if (approvalId === undefined) return;
    const decision = chance.pick(["once", "once", "session", "deny"] as const);
    const request: ClientRequest = { act: "answer", session: session.id, approvalId, decision };
    const answer = await this.#askOnce(request);
    if (answer.kind === "refused") session.approvals.delete(approvalId);
  }

  async #retry(session: KnownSession): Promise<void> {
    const clientId = `${this.#options.name}-${(this.#sent += 1)}`;
    const answer = await this.#askOnce({ act: "retry", session: session.id, clientId });
    if (answer.kind === "done" && answer.runId !== undefined) session.open.add(answer.runId);
  }

  async #truncate(session: KnownSession): Promise<void> {
    const from = session.messages.at(-2);
    if (from !== undefined) await this.#askOnce({ act: "truncate", session: session.id, from });
  }

  async #branch(session: KnownSession): Promise<void> {
    const { knownSessions } = this.#options;
    const answer = await this.#askOnce({ act: "branch", session: session.id });
    if (answer.kind !== "done" || answer.session === undefined) return;
    knownSessions.add(answer.session);
    knownSessions.retire(session);
  }

  /** P1: an unanswered request is sent again under its id, here or elsewhere, until it is answered. */
  async #askUntilAnswered(request: ClientRequest): Promise<ClientResponse> {
    for (;;) {
      const answer = await this.#askOnce(request);
      if (answer.kind === "done" || answer.kind === "refused") return answer;
      await rest(this.#options.chance.between(20, 200));
    }
  }

  async #askOnce(request: ClientRequest): Promise<ClientResponse> {
    const { chance, endpoints, history, name } = this.#options;
    const up = endpoints.filter((endpoint) => endpoint.isUp);
    if (up.length === 0) {
      await rest(50);
      return { kind: "lost", why: "nobody is there" };
    }
    const endpoint = chance.pick(up);
    const number = history.nextNumber();
    history.note({ kind: "asked", number, by: name, door: endpoint.name, request });
    return endpoint.ask(number, request);
  }
}
