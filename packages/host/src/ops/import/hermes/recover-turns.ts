import type { Report } from "../reading/folder.ts";
import { missingFrom, partialOf, type RunJournal, type SubmittedTurn } from "./journal.ts";
import { comparable, type Message, newMessage } from "./message.ts";
import type { Sidecar } from "./sidecar.ts";

/** Two notes of one turn are this close. */
const sameTurnMs = 5 * 60_000;

export interface RecoveredTurns {
  /** Whether the message of a turn that died was among the others. */
  readonly pending: "known" | "added" | null;
  readonly isRecovered: boolean;
}

/** Puts the turns that never settled into a conversation: what was asked, and what their journals have of an answer. */
export class TurnRecovery {
  readonly messages: Message[];
  readonly #sidecar: Sidecar | null;
  readonly #report: Report;
  #isRecovered = false;

  constructor(messages: readonly Message[], sidecar: Sidecar | null, report: Report) {
    this.messages = [...messages];
    this.#sidecar = sidecar;
    this.#report = report;
  }

  /** `transcript`: the agent's own, if the messages are from there. */
  recover(
    runs: readonly RunJournal[],
    turns: readonly SubmittedTurn[],
    transcript: string | null,
  ): RecoveredTurns {
    const pending = this.#placePending();
    const recovered = this.#recoverRuns(runs, turns);
    this.#reportPending(pending, transcript, recovered);
    return { pending, isRecovered: this.#isRecovered };
  }

  /** The message of a turn that died: usually in no list of messages. */
  #placePending(): "known" | "added" | null {
    const sidecar = this.#sidecar;
    if (sidecar?.pending == null) return null;
    const { text, at, attachments } = sidecar.pending;
    const index = this.messages.findLastIndex(
      (message) =>
        message.role === "user" &&
        comparable(message.text) === comparable(text) &&
        (at === null || message.at === null || Math.abs(message.at - at) < sameTurnMs),
    );
    const known = this.messages[index];
    if (known !== undefined) {
      this.messages[index] = {
        ...known,
        stream: known.stream ?? sidecar.stream,
        attachments: known.attachments.length === 0 ? attachments : known.attachments,
        where: [...new Set([...known.where, "pending"])],
      };
      return "known";
    }
    this.messages.push(
      newMessage({
        role: "user",
        text,
        at,
        attachments,
        stream: sidecar.stream,
        where: ["pending"],
      }),
    );
    this.#isRecovered = true;
    return "added";
  }

  /** Returns the journals that had something that no other store has. */
  #recoverRuns(runs: readonly RunJournal[], turns: readonly SubmittedTurn[]): ReadonlySet<string> {
    const recovered = new Set<string>();
    for (const run of runs) {
      if (run.end === "completed") continue;
      const turn = turns.find(({ stream }) => stream === run.stream);
      const at = this.#findTurn(run, turn);
      if (at === null) continue;
      const end = this.#endOfTurn(at);
      const missing = missingFrom(run, this.messages.slice(at + 1, end));
      this.#markKnown(run, at, end);
      if (missing.length === 0) continue;
      this.messages.splice(this.#beforeCards(at, end), 0, ...missing);
      recovered.add(run.stream);
      this.#isRecovered = true;
      this.#report({
        code: "lost_answer",
        outcome: "note",
        path: run.path,
        session: run.session,
        text: "The turn never finished. What was only in its journal was recovered.",
      });
    }
    return recovered;
  }

  /** What of the run other stores have, too. A partial answer ended as the run did. */
  #markKnown(run: RunJournal, at: number, end: number): void {
    const texts = new Set(run.segments.map(({ text }) => text.trim()));
    const calls = new Set(run.segments.flatMap((segment) => segment.calls.map(({ id }) => id)));
    for (let index = at + 1; index < end; index += 1) {
      const message = this.messages[index];
      if (message?.role !== "assistant") continue;
      const said = comparable(message.text);
      const isSaid = said !== "" && texts.has(said);
      if (!isSaid && !message.calls.some(({ id }) => calls.has(id))) continue;
      this.messages[index] = {
        ...message,
        partial: message.partial === null ? null : (partialOf(run.end) ?? message.partial),
        where: [...new Set([...message.where, "journal"])],
      };
    }
  }

  #findTurn(run: RunJournal, turn: SubmittedTurn | undefined): number | null {
    const sidecar = this.#sidecar;
    const isTurn = (message: Message): boolean =>
      message.role === "user" && message.undone === null && message.stream === run.stream;
    const byStream = this.messages.findIndex(isTurn);
    if (byStream !== -1) return byStream;
    const card = this.messages.findIndex(({ retryStream }) => retryStream === run.stream);
    const before = this.messages.findLastIndex(
      ({ role }, index) => role === "user" && index < card,
    );
    if (before !== -1) return before;
    if (turn === undefined) {
      if (this.messages.some(({ role }) => role === "user") && sidecar?.whole === true) return null;
      return this.messages.length === 0 ? this.#appendTurn(run, "", null, []) : null;
    }
    const wanted = comparable(turn.text);
    let best: number | null = null;
    let distance = Infinity;
    for (const [index, message] of this.messages.entries()) {
      if (message.role !== "user" || comparable(message.text) !== wanted) continue;
      const away = Math.abs((message.at ?? 0) - (turn.at ?? run.from ?? 0));
      // The page rounds times to seconds.
      if (away <= distance && away < sameTurnMs) [best, distance] = [index, away];
    }
    if (best !== null) return this.messages[best]?.undone === null ? best : null;
    if (sidecar?.whole === true) {
      this.#report({
        code: "undone",
        outcome: "skipped",
        path: run.path,
        session: run.session,
        text: "The page no longer has a message of this turn, because it was undone there.",
      });
      return null;
    }
    return this.#appendTurn(run, turn.text, turn.at, turn.attachments);
  }

  #appendTurn(
    run: RunJournal,
    text: string,
    at: number | null,
    attachments: readonly string[],
  ): number | null {
    if (text === "" && run.segments.length === 0) return null;
    const message = newMessage({
      role: "user",
      text,
      at: at ?? run.from,
      attachments,
      stream: run.stream,
      where: ["journal"],
    });
    this.messages.push(message);
    this.#isRecovered = true;
    return this.messages.length - 1;
  }

  #endOfTurn(at: number): number {
    const next = this.messages.findIndex(({ role }, index) => role === "user" && index > at);
    return next === -1 ? this.messages.length : next;
  }

  #beforeCards(at: number, end: number): number {
    let index = end;
    while (index > at + 1 && this.messages[index - 1]?.card === true) index -= 1;
    return index;
  }

  #reportPending(
    pending: RecoveredTurns["pending"],
    transcript: string | null,
    recovered: ReadonlySet<string>,
  ): void {
    const sidecar = this.#sidecar;
    if (sidecar === null || pending === null) return;
    if (sidecar.stream !== null && recovered.has(sidecar.stream)) return;
    const hasAnswer = this.messages.at(-1)?.role !== "user";
    this.#report({
      code: "lost_answer",
      outcome: hasAnswer ? "note" : "damaged",
      path: transcript ?? sidecar.path,
      session: sidecar.id,
      text: hasAnswer
        ? "The page never settled this turn; its answer was found elsewhere."
        : "The page never settled this turn, and nothing of an answer is left.",
    });
  }
}
