import type { OwnerId, SessionId } from "@holdfast/protocol";

import { redactSecrets } from "../context/write-summary.ts";
import type { Clock } from "../ports/clock.ts";
import type { MemoryHandle, MemoryProviders } from "../ports/memory.ts";
import type { ModelUsage } from "../ports/model.ts";
import type { Reads } from "../ports/reads.ts";
import type { ReviewAnswer, Reviewer } from "../ports/background-models.ts";
import {
  allFromPeople,
  hasPerson,
  type IsFromPerson,
  type SpokenMessage,
  spokenMessages,
} from "./segment.ts";

/**
 * What a review works with. It can read, and it can hand over what it found: it has nothing with which it could write to the
 * session, compact it or end it.
 */
export interface ConversationReviewerDeps {
  readonly reads: Pick<Reads, "session" | "entries">;
  readonly clock: Clock;
  readonly reviewer: Reviewer;
  readonly providers: MemoryProviders;
  /** Puts what a review has used into the ledger. */
  readonly recordUsage: (
    owner: OwnerId,
    session: SessionId,
    model: string,
    usage: ModelUsage,
  ) => Promise<void>;
  readonly onError: (error: unknown) => void;
  /** After so many messages a session is reviewed again. */
  readonly everyMessages: number;
  readonly timeoutMs: number;
  /** Everything that was said is a person's, unless this says otherwise. */
  readonly isFromPerson?: IsFromPerson;
}

export interface ReviewFigures {
  readonly reviewed: number;
  readonly failed: number;
  readonly lessons: number;
  readonly usageFailed: number;
}

/** What one review is given to read, and what it may bring back. */
const material = { entries: 100, characters: 24_000, charactersOfOne: 4_000 };
const lessons = { most: 10, characters: 300 };
/** Sessions: more than wait are not taken up, more than are known are forgotten. */
const sessions = { waiting: 100, known: 5_000 };

/**
 * Reads conversations now and then for what is worth remembering: one at a time, behind the turns and never in their way.
 * Nothing waits for it. What is called off, or falls out of the queue, is simply not reviewed: the turns themselves reach
 * memory in any case.
 */
export class ConversationReviewer {
  readonly #deps: ConversationReviewerDeps;
  readonly #stop = new AbortController();
  readonly #waiting = new Map<SessionId, OwnerId>();
  /** How often a session had come to its next review when it was last seen. */
  readonly #known = new Map<SessionId, number>();
  #current: { readonly session: SessionId; readonly stop: AbortController } | null = null;
  #work: Promise<void> = Promise.resolve();
  #isWorking = false;
  readonly #figures = { reviewed: 0, failed: 0, lessons: 0, usageFailed: 0 };

  constructor(deps: ConversationReviewerDeps) {
    this.#deps = deps;
  }

  /** Says that a turn of the session has ended. */
  notify(owner: OwnerId, session: SessionId): void {
    if (this.#stop.signal.aborted) return;
    if (this.#waiting.size >= sessions.waiting && !this.#waiting.has(session)) return;
    this.#waiting.set(session, owner);
    if (!this.#isWorking) this.#work = this.#workOn();
  }

  /** Calls a session's review off, waiting or under way. */
  cancel(session: SessionId): void {
    this.#waiting.delete(session);
    if (this.#current?.session === session) this.#current.stop.abort();
  }

  /** Resolves when nothing waits any more. */
  idle(): Promise<void> {
    return this.#work;
  }

  /** Whatever is under way is left alone: a model that does not hear its signal holds nobody up. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#waiting.clear();
    await this.#work;
  }

  figures(): ReviewFigures {
    return { ...this.#figures };
  }

  async #workOn(): Promise<void> {
    this.#isWorking = true;
    for (const [session, owner] of this.#waiting) {
      this.#waiting.delete(session);
      await this.#review(owner, session).catch(this.#deps.onError);
    }
    this.#isWorking = false;
  }

  async #review(owner: OwnerId, session: SessionId): Promise<void> {
    const handle = await this.#teachable();
    if (handle === null || !(await this.#isDue(owner, session))) return;
    const page = await this.#deps.reads.entries(owner, session, { limit: material.entries });
    const last = page?.entries.at(-1);
    const { isFromPerson: isPersons = allFromPeople } = this.#deps;
    const said = newestWithinLimit(
      (page?.entries ?? []).flatMap((entry) => spokenMessages(entry, isPersons)),
    );
    if (last === undefined || !hasPerson(said)) return;
    const id = `review:${session}:${last.seq}`;
    const stop = new AbortController();
    this.#current = { session, stop };
    const signal = AbortSignal.any([this.#stop.signal, stop.signal]);
    try {
      const answer = await this.#within(signal, (each) =>
        this.#deps.reviewer.review({ id, owner, session, material: said }, each),
      );
      if (answer === "over" || answer.status === "failed") this.#figures.failed += 1;
      else await this.#keep({ owner, session, id, signal, handle }, answer);
    } finally {
      this.#current = null;
    }
  }

  async #keep(
    { owner, session, id, signal, handle }: ReviewTarget,
    { lessons: brought, model, usage }: Extract<ReviewAnswer, { status: "reviewed" }>,
  ): Promise<void> {
    if (usage !== null)
      await this.#deps.recordUsage(owner, session, model, usage).catch((error: unknown) => {
        this.#figures.usageFailed += 1;
        this.#deps.onError(error);
      });
    const texts = brought.slice(0, lessons.most).map(cleanLesson).filter(isNotEmpty);
    const row = await this.#deps.reads.session(owner, session);
    // What a person has thrown away meanwhile is nobody's to remember.
    if (texts.length > 0 && !signal.aborted && row?.trashedAt === null) {
      const lesson = { owner, session, key: id, texts };
      const kept = await this.#within(signal, (each) => handle.learn(lesson, each));
      if (kept === "over" || kept.status === "failed") return void (this.#figures.failed += 1);
      this.#figures.lessons += texts.length;
    }
    this.#figures.reviewed += 1;
  }

  async #teachable(): Promise<LearningHandle | null> {
    const { providers } = this.#deps;
    const owner = providers.current();
    const handle = owner && (await providers.open(owner));
    return handle !== null && canLearn(handle) ? handle : null;
  }

  /** By the number of messages alone: a restart neither repeats a review nor brings it forward by much. */
  async #isDue(owner: OwnerId, session: SessionId): Promise<boolean> {
    const row = await this.#deps.reads.session(owner, session);
    if (row === null || row.trashedAt !== null || row.lastState !== "completed") return false;
    const { everyMessages } = this.#deps;
    const reached = Math.floor(row.messageCount / everyMessages);
    const before =
      this.#known.get(session) ?? Math.floor(Math.max(0, row.messageCount - 2) / everyMessages);
    this.#known.delete(session);
    this.#known.set(session, reached);
    const [oldest] = this.#known.keys();
    if (this.#known.size > sessions.known && oldest !== undefined) this.#known.delete(oldest);
    return reached > before;
  }

  async #within<T>(
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T | "over"> {
    const { clock, timeoutMs: patienceMs, onError } = this.#deps;
    const done = new AbortController();
    const either = AbortSignal.any([signal, done.signal]);
    const over = clock.sleep(patienceMs, either).then((): "over" => "over");
    const worked = work(either).catch((error: unknown): "over" => {
      if (!either.aborted) onError(error);
      return "over";
    });
    try {
      return await Promise.race([worked, over]);
    } finally {
      done.abort();
    }
  }
}

type LearningHandle = MemoryHandle & Required<Pick<MemoryHandle, "learn">>;

interface ReviewTarget {
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly id: string;
  readonly signal: AbortSignal;
  readonly handle: LearningHandle;
}

function canLearn(handle: MemoryHandle): handle is LearningHandle {
  return handle.learn !== undefined;
}

/** The newest, as many as there is room for, in the order in which they were said. */
function newestWithinLimit(said: readonly SpokenMessage[]): readonly SpokenMessage[] {
  let room = material.characters;
  const kept: SpokenMessage[] = [];
  for (const { role, text } of said.toReversed()) {
    const words = redactSecrets(text).slice(0, material.charactersOfOne);
    room -= words.length;
    if (room < 0) break;
    kept.unshift({ role, text: words });
  }
  return kept;
}

function cleanLesson(text: string): string {
  return redactSecrets(text).replaceAll(/\s+/gu, " ").trim().slice(0, lessons.characters);
}

const isNotEmpty = (text: string): boolean => text !== "";
