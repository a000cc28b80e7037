import { strict as assert } from "node:assert";

import {
  createIds,
  decodeEvent,
  type LaneKey,
  type SessionId,
  type StoredEvent,
} from "@holdfast/protocol";

import {
  AgentCache,
  compactSession,
  createCompactionLock,
  undo,
  createLog,
  type Log,
  type Agent,
  type ModelRequest,
  type Store,
  type Tool,
  admitMessage,
  type CachedContext,
  type Runner,
} from "@holdfast/engine";
import { aHolder, aLane, anOwner, aUserMessage } from "../fixtures/factories.ts";
import { manualClock } from "../fakes/manual-clock.ts";
import { type TestSession, openTestSession, assertPresent } from "../fixtures/open-session.ts";
import { createRunner } from "./run-rig.ts";
import { calls, says, scriptedModel } from "../fakes/scripted-model.ts";
import { type SeededRandom, seededRandom } from "../simulator/scheduler.ts";

export interface DayFigures {
  readonly requests: number;
  /** Requests that start with the whole previous one, and those that don't but have an explanation. */
  readonly stable: number;
  readonly explained: number;
  readonly acts: Readonly<Record<string, number>>;
}

const weights = {
  turn: 60,
  switchLane: 12,
  steered: 6,
  evict: 5,
  restart: 4,
  foreign: 5,
  undo: 3,
  compact: 2,
  persona: 1,
} as const;
type DayAction = keyof typeof weights;

/**
 * P9: a day with an agent, from a seed: turns in several sessions on several lanes, steering, evictions, restarts,
 * writes of other processes, and sometimes deliberate changes of the context. Each request must start with the whole
 * previous request of its session, byte by byte, or the log must name the event that explains why not.
 */
export async function runScriptedDay(
  store: Store,
  { turns, seed }: { readonly turns: number; readonly seed: number },
): Promise<DayFigures> {
  const day = await Day.begin(store, seededRandom(seed));
  const acts: Partial<Record<DayAction, number>> = {};
  for (let count = 0; count < turns; count += 1) {
    const act = day.chance.weighted(weights);
    acts[act] = (acts[act] ?? 0) + 1;
    await day.perform(act);
  }
  return { ...(await day.judge()), acts };
}

class Day {
  readonly chance: SeededRandom;
  readonly #store: Store;
  readonly #log: Log;
  readonly #chats: readonly TestSession[];
  readonly #lanes: readonly LaneKey[] = [aLane(), aLane()];
  readonly #ids = createIds();
  readonly #requests = new Map<SessionId, ModelRequest[]>();
  readonly #cuts = new Map<SessionId, number>();
  #cache: AgentCache<CachedContext>;
  #runner: Runner;
  #persona = 1;
  #notes = 0;
  #said = 0;
  #speaking: SessionId | undefined;
  #lane: LaneKey;

  static async begin(store: Store, chance: SeededRandom): Promise<Day> {
    const owner = anOwner();
    const chats: TestSession[] = [];
    for (let count = 0; count < 3; count += 1) chats.push(await openTestSession(store, {}, owner));
    return new Day(store, chance, chats);
  }

  constructor(store: Store, chance: SeededRandom, chats: readonly TestSession[]) {
    this.#store = store;
    this.#log = createLog(store);
    this.chance = chance;
    this.#chats = chats;
    this.#lane = assertPresent(this.#lanes[0]);
    [this.#cache, this.#runner] = this.#start();
  }

  async perform(act: DayAction): Promise<void> {
    const chat = this.chance.pick(this.#chats);
    switch (act) {
      case "switchLane":
        this.#lane = this.chance.pick(this.#lanes);
        return this.#turn(chat);
      case "evict":
        await this.#cache.evict(this.#lane);
        return this.#turn(chat);
      case "restart":
        await this.#runner.stop();
        [this.#cache, this.#runner] = this.#start();
        return this.#turn(chat);
      case "foreign":
        await chat.commit([aUserMessage(this.#words("elsewhere"))]);
        return this.#turn(chat);
      case "undo":
        await undo({ log: this.#log, ids: this.#ids }, chat);
        this.#cuts.set(chat.session, (this.#cuts.get(chat.session) ?? 0) + 1);
        return this.#turn(chat);
      case "compact":
        await this.#compact(chat);
        return this.#turn(chat);
      case "persona":
        this.#persona += 1;
        return this.#turn(chat);
      case "steered":
        return this.#turn(chat, "steer");
      case "turn":
        return this.#turn(chat);
    }
  }

  /** Compares each request with the previous one, and with what the log says about it. */
  async judge(): Promise<Omit<DayFigures, "acts">> {
    const figures = { requests: 0, stable: 0, explained: 0 };
    for (const chat of this.#chats) {
      const sent = this.#requests.get(chat.session) ?? [];
      const explained = await explanations(chat);
      for (const [index, request] of sent.entries()) {
        figures.requests += 1;
        const before = sent[index - 1];
        if (before === undefined || isExtensionOf(before, request)) figures.stable += 1;
        else figures.explained += 1;
      }
      const broken = sent.filter(
        (request, index) => index > 0 && !isExtensionOf(assertPresent(sent[index - 1]), request),
      );
      // A cache that was away can't know whether the cut part had been sent, so it is reported as if it had.
      const cuts = this.#cuts.get(chat.session) ?? 0;
      assert.ok(explained.explained >= broken.length, "A change of the prefix is not told.");
      assert.ok(explained.explained <= broken.length + cuts, "A change is told that never was.");
      assert.equal(
        explained.unexplained,
        0,
        "A change of the prefix has no event that explains it.",
      );
    }
    return figures;
  }

  #start(): [AgentCache<CachedContext>, Runner] {
    const clock = manualClock();
    const model = scriptedModel((request) => {
      const chat = assertPresent(this.#speaking);
      this.#requests.set(chat, [...(this.#requests.get(chat) ?? []), request]);
      const isAsked = request.messages.at(-1)?.role === "user";
      return isAsked && this.chance.happens(0.3)
        ? [says("Let me look."), calls("look")]
        : says(this.#words("answer"));
    });
    const tool: Tool = {
      name: "look",
      description: "Looks around.",
      input: { type: "object" },
      replay: "safe",
      timeLimitMs: 1_000,
      run: async () => ({ outcome: "ok", output: "Nothing new." }),
    };
    const build = async (): Promise<Agent> => {
      const persona = this.#persona;
      return {
        modelName: "scripted",
        model,
        // The notes change all the time, but a session that has begun must not see that.
        system: async () => `You are number ${persona}. Note ${(this.#notes += 1)}.`,
        tools: new Map([[tool.name, tool]]),
        bytes: 1,
        close: async () => {},
      };
    };
    const cache = new AgentCache<CachedContext>({
      factory: { signature: async () => `persona ${this.#persona}`, build },
      clock,
      limits: { bytes: 1_000, count: 2, idleMs: 60_000, baselines: 2 },
      beforeClose: async () => {},
      memory: () => "enough",
      sizeOf: () => 1,
      closeBudgetMs: 1_000,
      onError: (error) => assert.fail(String(error)),
    });
    return [cache, createRunner(this.#store, this.#log, { model, clock, deps: { agents: cache } })];
  }

  async #turn(chat: TestSession, mode: "queue" | "steer" = "queue"): Promise<void> {
    this.#speaking = chat.session;
    await this.#say(chat, "queue");
    if (mode === "steer") await this.#say(chat, "steer");
    this.#runner.notify(chat.owner, chat.session);
    await this.#runner.idle();
  }

  async #say({ owner, session }: TestSession, mode: "queue" | "steer"): Promise<void> {
    const text = this.#words("ask");
    const input = { owner, session, lane: this.#lane, mode, clientId: `say-${this.#said}`, text };
    const result = await admitMessage(this.#log, this.#ids, input);
    assert.equal(result.status, "accepted");
  }

  async #compact({ owner, session }: TestSession): Promise<void> {
    await compactSession(
      {
        log: this.#log,
        ids: this.#ids,
        lock: createCompactionLock(this.#store.leases),
        holder: () => aHolder(),
        count: (text) => text.length,
        summariser: { summarise: async () => ({ status: "summarised", text: "In short." }) },
      },
      { owner, session, reason: "asked", sizes: { tailTokens: 200, summaryTokens: 20 } },
    );
  }

  #words(of: string): string {
    this.#said += 1;
    return `${of} ${this.#said} ${"word ".repeat(this.chance.between(1, 12))}`.trim();
  }
}

function isExtensionOf(before: ModelRequest, now: ModelRequest): boolean {
  if (JSON.stringify(before.tools) !== JSON.stringify(now.tools)) return false;
  return before.messages.every(
    (message, index) => JSON.stringify(message) === JSON.stringify(now.messages[index]),
  );
}

/** The log's explanations for a session's requests, including those whose answers are hidden. */
async function explanations(
  chat: TestSession,
): Promise<{ explained: number; unexplained: number }> {
  const found = { explained: 0, unexplained: 0 };
  for (const event of await chat.events()) {
    const differs = differsIn(event);
    if (differs === undefined) continue;
    if (differs.explainedBy === undefined) found.unexplained += 1;
    else found.explained += 1;
  }
  return found;
}

function differsIn(event: StoredEvent) {
  const decoded = decodeEvent(event);
  if (decoded.kind !== "known" || decoded.event.type !== "message.assistant") return undefined;
  return decoded.event.data.request?.differs;
}
