import { answerApproval, type AnswerWords, changeInput, type OutboxRow } from "@holdfast/engine";
import { type InputMode, type LaneKey, parseTyped } from "@holdfast/protocol";

import type { Incoming } from "./adapter.ts";
import { sessionOfLane } from "../lane-session.ts";
import { admitFromChat } from "./admit.ts";
import { approvalWords, type PressedAnswer, pressedAnswer } from "./approval-words.ts";
import { ChatCommands } from "./chat-commands.ts";
import { clientIdOf, inboundKeyOf } from "./inbound-names.ts";
import { mayPress, presserOf } from "./may-press.ts";
import { oweNote } from "./notes.ts";
import { laneOf, placeOf } from "./place.ts";
import { choicesOf } from "./question-words.ts";
import { answerInWords } from "./questions.ts";
import type { ReceptionDeps } from "./reception-deps.ts";
import { TryAgain } from "./try-again.ts";

type Message = Extract<Incoming, { kind: "message" | "edit" }>;
type Press = Extract<Incoming, { kind: "press" }>;

const mostFetches = 5;

/** Takes what comes in. Whatever comes again, after a crash or from two who asked for it, has the effect of once. */
export class Reception {
  readonly #deps: ReceptionDeps;
  readonly #commands: ChatCommands;
  readonly #chats = new Map<string, Promise<void>>();
  readonly #fetches = new Map<string, number>();

  constructor(deps: ReceptionDeps) {
    this.#deps = deps;
    this.#commands = new ChatCommands(deps);
  }

  /** One after the other in each chat, all chats at once. Rejects with `TryAgain` when nothing must be confirmed. */
  take(incoming: Incoming): Promise<void> {
    const { chat } = incoming.place;
    const before = this.#chats.get(chat) ?? Promise.resolve();
    const work = before.catch(() => undefined).then(() => this.#handle(incoming));
    this.#chats.set(chat, work);
    const forget = () => void (this.#chats.get(chat) === work && this.#chats.delete(chat));
    work.then(forget, forget);
    return work;
  }

  async #handle(incoming: Incoming): Promise<void> {
    if (incoming.kind === "press") return this.#press(incoming);
    if (!(await this.#isWelcome(incoming))) return;
    if (!incoming.addressed) return;
    if (incoming.kind === "edit") return this.#edit(incoming);
    return this.#say(incoming);
  }

  /** Unknown people cost a look and, once, a line. In a group they get nothing at all. */
  async #isWelcome({ person, place, kind }: Message): Promise<boolean> {
    const { people, adapter } = this.#deps;
    if (await people.isAllowed(person)) return true;
    if (place.kind !== "private" || kind !== "message") return false;
    const standing = await people.meet(person);
    if (typeof standing === "string") return standing === "allowed";
    const text = `This bot is private. If its owner knows you, give them this code: \`${standing.code}\``;
    await adapter.send(place, { text }, null, AbortSignal.timeout(10_000));
    return false;
  }

  async #say(message: Message): Promise<void> {
    const typed = message.files.length > 0 ? null : parseTyped(message.text);
    const lane = this.#laneOf(message);
    if (typed !== null && typed.kind !== "message" && typed.kind !== "nothing") {
      const said = await this.#commands.take(typed, message, lane);
      if (said === "done") return;
      return this.#admit(message, lane, said.text, said.mode);
    }
    const text = typed?.kind === "message" ? typed.text : message.text;
    if (typed?.kind === "message" && (await this.#answer(message, lane, text))) return;
    return this.#admit(message, lane, text, "queue");
  }

  /** Whether it was the answer to a question that waits for this person here. */
  async #answer(message: Message, lane: LaneKey, text: string): Promise<boolean> {
    const { owner, runner, owes } = this.#deps;
    const deps = { ...this.#deps, chatOf: this.#chatOf };
    const key = this.#keyOf(message);
    const result = await answerInWords(deps, { message, text, lane, key });
    switch (result?.status) {
      case undefined:
        return false;
      case "answered":
        runner.poke(owner, result.approval.session);
        owes(result.approval.session);
        return true;
      case "failed":
        throw new TryAgain(result.message);
      case "not_found":
      case "refused":
        return true;
    }
  }

  #laneOf({ place }: Incoming): LaneKey {
    const { adapter, bot } = this.#deps;
    return laneOf(adapter.platform, bot, place);
  }

  readonly #chatOf = ({ lane }: Pick<OutboxRow, "lane">): string | null => {
    const { adapter, bot } = this.#deps;
    return placeOf(adapter.platform, bot, lane)?.chat ?? null;
  };

  #keyOf(incoming: Incoming): string {
    const { adapter, bot } = this.#deps;
    return inboundKeyOf(adapter.platform, bot, incoming);
  }

  async #admit(message: Message, lane: LaneKey, text: string, mode: InputMode): Promise<void> {
    const { adapter, runner, owner, owes } = this.#deps;
    const { place, files } = message;
    const key = this.#keyOf(message);
    const admitted = await admitFromChat(this.#deps, {
      key,
      clientId: clientIdOf(adapter.platform, message),
      lane,
      replyTo: place.kind === "group" ? message.message : null,
      text: saidBy(message, text),
      mode,
      files,
    });
    if (admitted.status === "away" && this.#isWorthAnotherTry(key))
      throw new TryAgain(admitted.why);
    switch (admitted.status) {
      case "admitted":
      case "taken":
        this.#fetches.delete(key);
        runner.poke(owner, admitted.session);
        return owes(admitted.session);
      case "away":
      case "unreadable":
        return this.#tell(
          message,
          `The file ${admitted.file} could not be taken: ${admitted.why.replace(/\.$/, "")}. Send it again.`,
        );
      case "failed":
        throw new TryAgain(admitted.message);
      case "refused":
        return this.#tell(message, admitted.message);
    }
  }

  /** A file that cannot be fetched holds up what came with it for a while, and not for good. */
  #isWorthAnotherTry(key: string): boolean {
    const tries = (this.#fetches.get(key) ?? 0) + 1;
    if (tries < mostFetches) this.#fetches.set(key, tries);
    else this.#fetches.delete(key);
    return tries < mostFetches;
  }

  /** A line back, where there is a session to owe it from; otherwise it is said at once, and may be said again. */
  async #tell(message: Message, text: string): Promise<void> {
    const { adapter, owes } = this.#deps;
    const lane = this.#laneOf(message);
    const session = await sessionOfLane(this.#deps, lane);
    const owed = { lane, key: this.#keyOf(message), replyTo: null };
    const told = session && (await oweNote(this.#deps, { ...owed, session }, text));
    if (session !== null && told === "owed") owes(session);
    else await adapter.send(message.place, { text }, null, AbortSignal.timeout(10_000));
  }

  /** What still waits is changed; what was taken up stays what it was. */
  async #edit(message: Message): Promise<void> {
    const { log, ids, owner, adapter } = this.#deps;
    const row = await log.store.reads.inbound(owner, this.#keyOf(message));
    if (row === null) return;
    const { session } = row;
    const clientId = clientIdOf(adapter.platform, message);
    const inbox = (await log.store.reads.snapshot(owner, session, { limit: 1 }))?.inbox ?? [];
    const input = inbox.find((each) => each.clientId === clientId);
    if (input === undefined) return;
    const { messageId } = input;
    const text = saidBy(message, message.text);
    const changed = await changeInput(log, ids, { owner, session, messageId }, { text });
    if (changed.status === "failed") throw new TryAgain(changed.message);
  }

  async #press(pressed: Press): Promise<void> {
    const { person, place, message, press, data } = pressed;
    const { people, adapter, log, ids, owner, runner } = this.#deps;
    const soon = AbortSignal.timeout(10_000);
    const answer = pressedAnswer(data);
    const isTheirs =
      answer !== null &&
      (await people.isAllowed(person)) &&
      (await mayPress({ log, owner, adapter, chatOf: this.#chatOf }, answer.approval, pressed));
    if (!isTheirs) return adapter.acknowledge(press, "This is not yours to answer.", soon);
    const words = await this.#wordsOf(answer);
    if (words === null) return adapter.acknowledge(press, "That is no answer to it.", soon);
    const said = { ...words, by: presserOf(adapter.platform, person) };
    const result = await answerApproval(log, ids, owner, answer.approval, answer.answer, said);
    switch (result.status) {
      case "answered":
        runner.poke(owner, result.approval.session);
        this.#deps.owes(result.approval.session);
        await adapter.acknowledge(press, "", soon);
        // Its buttons go, also where a crash has kept us from knowing that this message is ours.
        await adapter.edit(place, message, approvalWords(result.approval), soon);
        return;
      case "failed":
        throw new TryAgain(result.message);
      case "not_found":
        return adapter.acknowledge(press, "There is no such question any more.", soon);
      case "refused":
        return adapter.acknowledge(press, result.message, soon);
    }
  }

  /** What a press says beside yes or no; `null` where it does not fit what is asked: a yes to a question without an answer says nothing. */
  async #wordsOf({ approval, answer, choice }: PressedAnswer): Promise<AnswerWords | null> {
    const { log, owner } = this.#deps;
    const row = await log.store.reads.approval(owner, approval);
    if (row === null || answer === "deny") return {};
    const isQuestion = row.details.kind === "question";
    if (choice === undefined) return isQuestion ? null : {};
    const chosen = choicesOf(row)[choice];
    return chosen === undefined ? null : { answer: chosen };
  }
}

/** In a group others read along: the model is told who speaks, and what they speak of. */
function saidBy({ quoted, place, person }: Message, text: string): string {
  const quote = quoted === null ? "" : `> ${quoted.slice(0, 1_000).replaceAll("\n", "\n> ")}\n\n`;
  const speaker = place.kind === "group" ? `${person.name}: ` : "";
  return `${quote}${speaker}${text}`;
}
