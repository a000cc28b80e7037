import {
  mergeTaint,
  type OwnerId,
  type SessionId,
  type TaintSource,
  withTimeout,
} from "@holdfast/protocol";

import { readContext } from "../context/session-context.ts";
import { taintOf, taintOfEntries } from "../context/taint.ts";
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
 * What a review works with. It can read the session and hand over lessons; it has no means to write to the session,
 * compact it or end it.
 */
export interface ConversationReviewerDeps {
  readonly reads: Reads;
  readonly clock: Clock;
  readonly reviewer: Reviewer;
  readonly providers: MemoryProviders;
  /** Records a review's usage in the ledger. */
  readonly recordUsage: (
    owner: OwnerId,
    session: SessionId,
    model: string,
    usage: ModelUsage,
  ) => Promise<void>;
  readonly onError: (error: unknown) => void;
  /** `false`: a spending limit is reached, and the review is skipped. */
  readonly mayCallModel?: ((owner: OwnerId, session: SessionId) => Promise<boolean>) | undefined;
  /** A session is reviewed again after this many messages. */
  readonly everyMessages: number;
  readonly timeoutMs: number;
  /** By default every message counts as a person's. */
  readonly isFromPerson?: IsFromPerson;
}

export interface ReviewFigures {
  readonly reviewed: number;
  readonly failed: number;
  readonly lessons: number;
  readonly usageFailed: number;
}

/** What one review may read, and what it may return. */
const material = { entries: 100, characters: 24_000, charactersOfOne: 4_000 };
const lessons = { most: 10, characters: 300 };
/** Beyond these limits sessions are not queued, or are forgotten. */
const sessions = { waiting: 100, known: 5_000 };

/**
 * Occasionally reads conversations for what is worth remembering: one at a time, in the background and never in the way
 * of a turn. Nothing waits for it. A cancelled or dropped review is simply skipped: the turns themselves reach memory
 * in any case.
 */
export class ConversationReviewer {
  readonly #deps: ConversationReviewerDeps;
  readonly #stop = new AbortController();
  readonly #waiting = new Map<SessionId, OwnerId>();
  /** How many reviews were due for a session when it was last seen. */
  readonly #reviewCounts = new Map<SessionId, number>();
  #current: { readonly session: SessionId; readonly stop: AbortController } | null = null;
  #work: Promise<void> = Promise.resolve();
  #isWorking = false;
  readonly #counts = { reviewed: 0, failed: 0, lessons: 0, usageFailed: 0 };

  constructor(deps: ConversationReviewerDeps) {
    this.#deps = deps;
  }

  /** Announces that a turn of the session has ended. */
  notify(owner: OwnerId, session: SessionId): void {
    if (this.#stop.signal.aborted) return;
    if (this.#waiting.size >= sessions.waiting && !this.#waiting.has(session)) return;
    this.#waiting.set(session, owner);
    if (!this.#isWorking) this.#work = this.#workOn();
  }

  /** Cancels a session's review, queued or under way. */
  cancel(session: SessionId): void {
    this.#waiting.delete(session);
    if (this.#current?.session === session) this.#current.stop.abort();
  }

  /** Resolves when the queue is empty. */
  idle(): Promise<void> {
    return this.#work;
  }

  /** A review under way is abandoned: a model that ignores its signal holds nobody up. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#waiting.clear();
    await this.#work;
  }

  figures(): ReviewFigures {
    return { ...this.#counts };
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
    const handle = await this.#learningHandle();
    if (handle === null || !(await this.#isDue(owner, session))) return;
    if ((await this.#deps.mayCallModel?.(owner, session)) === false) return;
    const page = await this.#deps.reads.entries(owner, session, { limit: material.entries });
    const last = page?.entries.at(-1);
    const { isFromPerson = allFromPeople } = this.#deps;
    const messages = newestWithinLimit(
      (page?.entries ?? []).flatMap((entry) => spokenMessages(entry, isFromPerson)),
    );
    if (last === undefined || !hasPerson(messages)) return;
    const id = `review:${session}:${last.seq}`;
    const stop = new AbortController();
    this.#current = { session, stop };
    const signal = AbortSignal.any([this.#stop.signal, stop.signal]);
    try {
      const answer = await this.#within(signal, (reviewSignal) =>
        this.#deps.reviewer.review({ id, owner, session, material: messages }, reviewSignal),
      );
      if (answer === "over" || answer.status === "failed") this.#counts.failed += 1;
      else {
        // Its answers may repeat what it had read before this page.
        const context = await readContext(this.#deps.reads, owner, session);
        const older = context === null ? [] : taintOf(context);
        const taint = mergeTaint(taintOfEntries(page?.entries ?? []), older);
        await this.#storeLessons({ owner, session, id, signal, handle, taint }, answer);
      }
    } finally {
      this.#current = null;
    }
  }

  async #storeLessons(
    { owner, session, id, signal, handle, taint }: ReviewTarget,
    { lessons: returned, model, usage }: Extract<ReviewAnswer, { status: "reviewed" }>,
  ): Promise<void> {
    if (usage !== null)
      await this.#deps.recordUsage(owner, session, model, usage).catch((error: unknown) => {
        this.#counts.usageFailed += 1;
        this.#deps.onError(error);
      });
    const texts = returned.slice(0, lessons.most).map(cleanLesson).filter(isNotEmpty);
    const row = await this.#deps.reads.session(owner, session);
    // A session that a person trashed meanwhile is not remembered.
    if (texts.length > 0 && !signal.aborted && row?.trashedAt === null) {
      const lesson = { owner, session, key: id, texts, ...(taint.length > 0 && { taint }) };
      const learned = await this.#within(signal, (reviewSignal) =>
        handle.learn(lesson, reviewSignal),
      );
      if (learned === "over" || learned.status === "failed") return void (this.#counts.failed += 1);
      this.#counts.lessons += texts.length;
    }
    this.#counts.reviewed += 1;
  }

  async #learningHandle(): Promise<LearningHandle | null> {
    const { providers } = this.#deps;
    const owner = providers.current();
    const handle = owner && (await providers.open(owner));
    return handle !== null && canLearn(handle) ? handle : null;
  }

  /** Depends only on the number of messages: a restart neither repeats a review nor brings it forward by much. */
  async #isDue(owner: OwnerId, session: SessionId): Promise<boolean> {
    const row = await this.#deps.reads.session(owner, session);
    if (row === null || row.trashedAt !== null || row.lastState !== "completed") return false;
    const { everyMessages } = this.#deps;
    const reached = Math.floor(row.messageCount / everyMessages);
    const reviewed =
      this.#reviewCounts.get(session) ??
      Math.floor(Math.max(0, row.messageCount - 2) / everyMessages);
    this.#reviewCounts.delete(session);
    this.#reviewCounts.set(session, reached);
    const [oldest] = this.#reviewCounts.keys();
    if (this.#reviewCounts.size > sessions.known && oldest !== undefined)
      this.#reviewCounts.delete(oldest);
    return reached > reviewed;
  }

  async #within<T>(
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T | "over"> {
    const { clock, timeoutMs, onError } = this.#deps;
    const worked = await withTimeout({ clock, ms: timeoutMs, signal }, (stop) =>
      work(stop).catch((error: unknown): "over" => {
        if (!stop.aborted) onError(error);
        return "over";
      }),
    );
    return worked.status === "done" ? worked.value : "over";
  }
}

type LearningHandle = MemoryHandle & Required<Pick<MemoryHandle, "learn">>;

interface ReviewTarget {
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly id: string;
  readonly signal: AbortSignal;
  readonly handle: LearningHandle;
  readonly taint: readonly TaintSource[];
}

function canLearn(handle: MemoryHandle): handle is LearningHandle {
  return handle.learn !== undefined;
}

/** The newest messages that fit, in the order they were said. */
function newestWithinLimit(messages: readonly SpokenMessage[]): readonly SpokenMessage[] {
  let remainingChars = material.characters;
  const selected: SpokenMessage[] = [];
  for (const { role, text } of messages.toReversed()) {
    const wording = redactSecrets(text).slice(0, material.charactersOfOne);
    remainingChars -= wording.length;
    if (remainingChars < 0) break;
    selected.unshift({ role, text: wording });
  }
  return selected;
}

function cleanLesson(text: string): string {
  return redactSecrets(text).replaceAll(/\s+/gu, " ").trim().slice(0, lessons.characters);
}

const isNotEmpty = (text: string): boolean => text !== "";
