import type { InputMode, MessageId, SessionId } from "@holdfast/protocol";

import { branch, clear, redo, retry, truncate, undo } from "../../history/index.ts";
import { StoreFailure } from "../../ports/index.ts";
import {
  type Admission,
  admitMessage,
  changeInput,
  removeInput,
  requestCancel,
} from "../../run/index.ts";
import { Client, unheard } from "./client.ts";
import type { SimHost } from "./host.ts";
import type { World } from "./world.ts";

interface Said {
  readonly session: SessionId;
  readonly clientId: string;
  readonly text: string;
  readonly mode: InputMode;
}

const acts = {
  say: 10,
  sayAgain: 2,
  changeInput: 1,
  removeInput: 1,
  cancel: 2,
  undo: 1,
  redo: 1,
  retry: 1,
  truncate: 0.5,
  clear: 0.3,
  branch: 0.5,
  trash: 0.4,
  restore: 0.6,
} as const;

const mostSessions = 4;

/** A person at one of several pages: says things, changes their mind, repeats what was not answered. */
export class Writer {
  readonly #client: Client;
  readonly #world: World;
  readonly #name: string;
  readonly #said: Said[] = [];
  readonly #messages: { readonly session: SessionId; readonly messageId: MessageId }[] = [];
  #count = 0;

  constructor(world: World, name: string) {
    this.#world = world;
    this.#name = name;
    this.#client = new Client(world, name);
  }

  async work(): Promise<void> {
    const { profile, scheduler } = this.#world;
    for (let left = profile.actsOfAWriter; left > 0; left -= 1) {
      await this.#client.pause(profile.troubleMs / profile.actsOfAWriter);
      await this.#act(scheduler.chance.weighted(acts));
    }
  }

  async #act(act: keyof typeof acts): Promise<void> {
    const { chance } = this.#world.scheduler;
    const session = chance.pick(this.#world.sessions);
    switch (act) {
      case "say":
        return this.#say(this.#drawMessage(session));
      case "sayAgain":
        return this.#said.length === 0 ? undefined : this.#say(chance.pick(this.#said));
      case "changeInput":
      case "removeInput":
        return this.#changeWaiting(act);
      case "cancel":
        return this.#cancel();
      case "trash":
        return this.#ask("trash", (host) => host.log.trashSession(this.#world.owner, session));
      case "restore":
        return this.#ask("restore", (host) => host.log.restoreSession(this.#world.owner, session));
      case "branch":
        return this.#branch(session);
      default:
        return this.#changeHistory(act, session);
    }
  }

  /** An answer that does not matter, unless it is an exception. */
  async #ask(what: string, work: (host: SimHost) => Promise<unknown>): Promise<void> {
    await this.#heard(what, work);
  }

  async #heard<T>(what: string, work: (host: SimHost) => Promise<T>): Promise<T | typeof unheard> {
    try {
      return await this.#client.ask(what, work);
    } catch (error) {
      if (error instanceof StoreFailure) return unheard;
      this.#world.record.noticed.push({ promise: "bug", text: `${what}: ${String(error)}` });
      return unheard;
    }
  }

  #drawMessage(session: SessionId): Said {
    const { chance } = this.#world.scheduler;
    this.#count += 1;
    return {
      session,
      clientId: `${this.#name}-${this.#count}`.replace(" ", "-"),
      text: `${this.#name} says ${this.#count}`,
      mode: chance.weighted({ queue: 6, steer: 2, interrupt: 2 }),
    };
  }

  /** P1: who did not hear an answer asks again, in the same words and under the same name. */
  async #say(said: Said): Promise<void> {
    const { scheduler, owner } = this.#world;
    if (!this.#said.includes(said)) this.#said.push(said);
    for (let tries = 0; tries < 4; tries += 1) {
      const { clientId, mode } = said;
      const admission = await this.#heard(`say ${clientId} (${mode})`, async (host) => {
        const heard = await admitMessage(host.log, host.ids, { owner, ...said });
        if (heard.status === "accepted") this.#poke(host, said.session);
        return heard;
      });
      if (admission !== unheard && admission.status !== "failed")
        return this.#learn(said, admission);
      if (scheduler.chance.happens(0.3)) return;
      await this.#client.pause(1_000);
    }
  }

  #learn({ session, clientId }: Said, admission: Admission): void {
    if (admission.status !== "accepted") return;
    const { record, scheduler, runs } = this.#world;
    const { messageId, runId, seq } = admission;
    record.acknowledged.push({ step: scheduler.steps, session, clientId, messageId, runId, seq });
    this.#messages.push({ session, messageId });
    if (!runs.includes(runId)) runs.push(runId);
  }

  /** What is told to the runner can get lost, or be told to another one as well. */
  #poke(host: SimHost, session: SessionId): void {
    const { scheduler, profile, owner } = this.#world;
    const { chance } = scheduler;
    if (!(this.#world.troubled && chance.happens(profile.lostWake)))
      host.runner.poke(owner, session);
    if (chance.happens(profile.doubleWake)) this.#world.aHost()?.runner.poke(owner, session);
  }

  async #changeWaiting(act: "changeInput" | "removeInput"): Promise<void> {
    const { owner, scheduler } = this.#world;
    if (this.#messages.length === 0) return;
    const target = { owner, ...scheduler.chance.pick(this.#messages) };
    await this.#ask(act, ({ log, ids }) =>
      act === "removeInput"
        ? removeInput(log, ids, target)
        : changeInput(log, ids, target, { text: `${this.#name} says otherwise` }),
    );
  }

  async #cancel(): Promise<void> {
    const { owner, runs, record, scheduler } = this.#world;
    if (runs.length === 0) return;
    const runId = scheduler.chance.pick(runs);
    record.cancelAsked.add(runId);
    const result = await this.#heard(`cancel ${runId.slice(-6)}`, ({ log, ids }) =>
      requestCancel(log, ids, owner, runId),
    );
    if (result === unheard) return;
    if (result.status === "requested" || result.status === "ended") record.cancelled.add(runId);
  }

  async #branch(session: SessionId): Promise<void> {
    const { owner, sessions } = this.#world;
    if (sessions.length >= mostSessions) return;
    const result = await this.#heard("branch", (host) => branch(host, { owner, session }));
    if (result !== unheard && result.status === "branched") sessions.push(result.session);
  }

  async #changeHistory(
    act: "undo" | "redo" | "retry" | "truncate" | "clear",
    session: SessionId,
  ): Promise<void> {
    const { owner, scheduler, record } = this.#world;
    const target = { owner, session };
    const known = record.acknowledged.filter((each) => each.session === session);
    switch (act) {
      case "undo":
        return this.#ask(act, (host) => undo(host, target, scheduler.chance.between(1, 2)));
      case "redo":
        return this.#ask(act, (host) => redo(host, target));
      case "clear":
        return this.#ask(act, (host) => clear(host, target));
      case "truncate": {
        const last = known.at(-1);
        return last && this.#ask(act, (host) => truncate(host, target, last.seq));
      }
      case "retry":
        return this.#retry(session);
    }
  }

  async #retry(session: SessionId): Promise<void> {
    const { owner } = this.#world;
    this.#count += 1;
    const clientId = `${this.#name}-${this.#count}`.replace(" ", "-");
    const result = await this.#heard("retry", async (host) => {
      const heard = await retry(host, { owner, session }, { clientId });
      if (heard.status === "accepted") this.#poke(host, session);
      return heard;
    });
    if (result === unheard || result.status !== "accepted") return;
    this.#learn({ session, clientId, text: "", mode: "queue" }, result);
  }
}
