import { type IdSource, type SessionId, type InputMode, type MessageId } from "@holdfast/protocol";
import {
  branch,
  clear,
  duplicate,
  type HistoryTarget,
  interruptThen,
  redo,
  restore,
  retry,
  trash,
  truncate,
  switchAlternative,
  undo,
  StoreFailure,
  type Admission,
  admitMessage,
  changeInput,
  removeInput,
  requestCancel,
  resumeRun,
} from "@holdfast/engine";
import type { SimHost } from "./host.ts";
import type { SimWorld } from "./world.ts";
import { answerOneApproval, SimClient, noAnswer } from "./client.ts";

/** What a person does to a conversation as a whole, and how often. */
export const historyCommandWeights = {
  undo: 1,
  redo: 1,
  retry: 1,
  switch: 0.6,
  truncate: 0.5,
  clear: 0.3,
  branch: 0.4,
  duplicate: 0.2,
  trash: 0.4,
  restore: 0.6,
} as const;

/** Every answer of a history command that a client distinguishes. */
type HistoryAnswer =
  | { readonly status: "committed" | "refused" | "failed" }
  | { readonly status: "branched"; readonly session: SessionId }
  | Extract<Awaited<ReturnType<typeof retry>>, { status: "accepted" }>;

interface Command {
  readonly session: SessionId;
  readonly ids: IdSource;
  readonly words: { readonly clientId: string };
}

const mostSessions = 4;

/**
 * A command with everything drawn in advance, so that repeating it is the same command. Some first end a run that is
 * in their way.
 */
export function drawHistoryCommand(
  world: SimWorld,
  act: keyof typeof historyCommandWeights,
  { session, ids, words }: Command,
): (host: SimHost) => Promise<HistoryAnswer> {
  const { chance } = world.scheduler;
  const target: HistoryTarget = { owner: world.owner, session, command: ids.make("event") };
  const branched = ids.make("session");
  const turns = chance.between(1, 2);
  const known = world.record.acknowledged.filter((input) => input.session === session);
  const from = known.length === 0 ? undefined : chance.pick(known).seq;
  const choice = chance.between(0, 99);
  const isFull = world.sessions.length >= mostSessions;

  async function carryOut(host: SimHost, on: HistoryTarget): Promise<HistoryAnswer> {
    switch (act) {
      case "undo":
        return undo(host, on, turns);
      case "redo":
        return redo(host, on);
      case "retry":
        return retry(host, on, words);
      case "switch": {
        const row = await host.log.store.reads.session(on.owner, on.session);
        const versions = row?.alternatives.flat() ?? [];
        const chosen = versions[choice % versions.length];
        return chosen === undefined ? refused : switchAlternative(host, on, chosen.messageId);
      }
      case "clear":
        return clear(host, on);
      case "truncate":
        return from === undefined ? refused : truncate(host, on, from);
      case "branch":
        return isFull ? refused : branch(host, on, { session: branched });
      case "duplicate":
        return isFull ? refused : duplicate(host, on, { session: branched });
      case "trash":
        return trash(historyDeps(host), on);
      case "restore":
        return restore(historyDeps(host), on);
    }
  }

  const cuts =
    act === "undo" || act === "switch" || act === "retry" || act === "truncate" || act === "clear";
  if (!cuts || chance.happens(0.5)) return (host) => carryOut(host, target);
  world.record.interrupted.add(session);
  return (host) => interruptThen(historyDeps(host), target, (on) => carryOut(host, on));
}

const refused = { status: "refused" } as const;

function historyDeps({ log, ids, clock, runner, holder }: SimHost) {
  return { log, ids, clock, runner, holder };
}

interface SentMessage {
  readonly session: SessionId;
  readonly clientId: string;
  readonly text: string;
  readonly mode: InputMode;
}

const actionWeights = {
  say: 10,
  sayAgain: 2,
  changeInput: 1,
  removeInput: 1,
  cancel: 2,
  resume: 1,
  answer: 3,
  ...historyCommandWeights,
} as const;

/** A person at one of several pages: says things, changes their mind, repeats what wasn't answered. */
export class SimWriter {
  readonly #client: SimClient;
  readonly #world: SimWorld;
  readonly #name: string;
  readonly #ids: IdSource;
  readonly #said: SentMessage[] = [];
  readonly #messages: { readonly session: SessionId; readonly messageId: MessageId }[] = [];
  #count = 0;

  constructor(world: SimWorld, name: string) {
    this.#world = world;
    this.#name = name;
    this.#client = new SimClient(world, name);
    this.#ids = world.makeIds();
  }

  async work(): Promise<void> {
    const { profile, scheduler } = this.#world;
    for (let left = profile.actsOfAWriter; left > 0; left -= 1) {
      await this.#client.pause(profile.troubleMs / profile.actsOfAWriter);
      await this.#act(scheduler.chance.weighted(actionWeights));
    }
  }

  async #act(act: keyof typeof actionWeights): Promise<void> {
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
      case "resume":
        return this.#resume();
      case "answer":
        return this.#ask("answer", (host) => answerOneApproval(this.#world, host));
      default:
        return this.#changeHistory(act, session);
    }
  }

  /** A call whose answer doesn't matter, unless it is an exception. */
  async #ask(what: string, work: (host: SimHost) => Promise<unknown>): Promise<void> {
    await this.#heard(what, work);
  }

  async #heard<T>(what: string, work: (host: SimHost) => Promise<T>): Promise<T | typeof noAnswer> {
    try {
      return await this.#client.ask(what, work);
    } catch (error) {
      if (error instanceof StoreFailure) return noAnswer;
      this.#world.record.noticed.push({ promise: "bug", text: `${what}: ${String(error)}` });
      return noAnswer;
    }
  }

  #drawMessage(session: SessionId): SentMessage {
    const { chance } = this.#world.scheduler;
    this.#count += 1;
    return {
      session,
      clientId: `${this.#name}-${this.#count}`.replace(" ", "-"),
      text: `${this.#name} says ${this.#count}`,
      mode: chance.weighted({ queue: 6, steer: 2, interrupt: 2 }),
    };
  }

  /** P1: without an answer the message is sent again, unchanged and under the same id. */
  async #say(said: SentMessage): Promise<void> {
    const { scheduler, owner } = this.#world;
    if (!this.#said.includes(said)) this.#said.push(said);
    for (let tries = 0; tries < 4; tries += 1) {
      const { clientId, mode } = said;
      const admission = await this.#heard(`say ${clientId} (${mode})`, async (host) => {
        const heard = await admitMessage(host.log, host.ids, { owner, ...said });
        if (heard.status === "accepted") this.#notifyRunner(host, said.session);
        return heard;
      });
      if (admission !== noAnswer && admission.status !== "failed")
        return this.#learn(said, admission);
      if (scheduler.chance.happens(0.3)) return;
      await this.#client.pause(1_000);
    }
  }

  #learn({ session, clientId }: SentMessage, admission: Admission): void {
    if (admission.status !== "accepted") return;
    const { record, scheduler, runs } = this.#world;
    const { messageId, runId, seq } = admission;
    record.acknowledged.push({ step: scheduler.steps, session, clientId, messageId, runId, seq });
    this.#messages.push({ session, messageId });
    if (!runs.includes(runId)) runs.push(runId);
  }

  /** A notification to the runner can get lost, or reach another one as well. */
  #notifyRunner(host: SimHost, session: SessionId): void {
    const { scheduler, profile, owner } = this.#world;
    const { chance } = scheduler;
    if (!(this.#world.faultsEnabled && chance.happens(profile.lostWake)))
      host.runner.notify(owner, session);
    if (chance.happens(profile.doubleWake)) this.#world.aHost()?.runner.notify(owner, session);
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
    if (result === noAnswer) return;
    if (result.status === "requested" || result.status === "ended") record.cancelled.add(runId);
  }

  /** Resumes any run, whether that makes sense or not; repeating the command changes nothing. */
  async #resume(): Promise<void> {
    const { owner, runs, scheduler } = this.#world;
    if (runs.length === 0) return;
    const target = { owner, runId: scheduler.chance.pick(runs), command: this.#ids.make("event") };
    await this.#repeatedly("resume", async (host) => {
      const result = await resumeRun(host.log, host.ids, target);
      if (result.status !== "resumed") return result;
      this.#notifyRunner(host, result.session);
      if (!runs.includes(result.runId)) runs.push(result.runId);
      return result;
    });
  }

  async #changeHistory(act: keyof typeof historyCommandWeights, session: SessionId): Promise<void> {
    const { sessions } = this.#world;
    const words = this.#drawMessage(session);
    const work = drawHistoryCommand(this.#world, act, { session, ids: this.#ids, words });
    const result = await this.#repeatedly(act, work);
    if (result === noAnswer) return;
    if (result.status === "branched" && !sessions.includes(result.session))
      sessions.push(result.session);
    if (result.status !== "accepted") return;
    this.#learn(words, result);
  }

  /** A command without an answer is sent again under the same id, to any host. */
  async #repeatedly<T extends { readonly status: string }>(
    what: string,
    work: (host: SimHost) => Promise<T>,
  ): Promise<T | typeof noAnswer> {
    for (;;) {
      const result = await this.#heard(what, work);
      const isAnswered = result !== noAnswer && result.status !== "failed";
      if (isAnswered || this.#world.scheduler.chance.happens(0.5)) return result;
      await this.#client.pause(1_000);
    }
  }
}
