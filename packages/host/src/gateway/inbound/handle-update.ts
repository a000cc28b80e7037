import { answerApproval, type AnswerDetails, changeInput } from "@holdfast/engine";
import type { InputMode, LaneKey } from "@holdfast/protocol";

import type { Incoming, ChatAddress } from "../adapter.ts";
import { sessionOfLane } from "../lane-session.ts";
import { admitChatMessage, type InboundDeps, RetryLater } from "./admit-message.ts";
import {
  approvalMessage,
  type ButtonAnswer,
  parseButtonAnswer,
  choicesOf,
} from "../approval-message.ts";
import { ChatCommands } from "./chat-commands.ts";
import { mayAnswer, answeredBy, answerWithText } from "./answer-approval.ts";
import { enqueueNote } from "../outbound/enqueue.ts";
import { parseAllowedInput } from "./chat-access.ts";

type IncomingMessage = Extract<Incoming, { kind: "message" | "edit" }>;
type ButtonPress = Extract<Incoming, { kind: "press" }>;

const maxFetchAttempts = 5;

/** Takes what comes in. Whatever comes again, after a crash or from two who asked for it, has the effect of once. */
export class UpdateHandler {
  readonly #deps: InboundDeps;
  readonly #commands: ChatCommands;
  readonly #chats = new Map<string, Promise<string | null>>();
  readonly #fetches = new Map<string, number>();

  constructor(deps: InboundDeps) {
    this.#deps = deps;
    this.#commands = new ChatCommands(deps);
  }

  /**
   * One after the other in each chat, all chats at once. Says why a press counted for nothing, where it did. Rejects with
   * `RetryLater` when nothing must be confirmed.
   */
  handle(incoming: Incoming): Promise<string | null> {
    const { chat } = incoming.address;
    const before = this.#chats.get(chat) ?? Promise.resolve(null);
    const work = before.catch(() => undefined).then(() => this.#handle(incoming));
    this.#chats.set(chat, work);
    const forget = () => void (this.#chats.get(chat) === work && this.#chats.delete(chat));
    work.then(forget, forget);
    return work;
  }

  async #handle(incoming: Incoming): Promise<string | null> {
    if (incoming.kind === "press") return this.#press(incoming);
    if (!(await this.#isWelcome(incoming)) || !incoming.addressed) return null;
    const { chatTitle: called, address: place } = incoming;
    if (called !== undefined) await this.#deps.titles.remember(place.chat, called);
    if (incoming.kind === "edit") await this.#edit(incoming);
    else await this.#say(incoming);
    return null;
  }

  /** Unknown people cost a look and, once, a line. In a group they get nothing at all. */
  async #isWelcome({ person, address: place, kind }: IncomingMessage): Promise<boolean> {
    const { access: people } = this.#deps;
    if (await people.isAllowed(person)) return true;
    if (place.kind !== "private" || kind !== "message") return false;
    const standing = await people.requestPairing(person, place.chat);
    if (typeof standing === "string") return standing === "allowed";
    const text = `This bot is private. If its owner knows you, give them this code: \`${standing.code}\``;
    await this.#sendAtOnce(place, text);
    return false;
  }

  async #say(message: IncomingMessage): Promise<void> {
    const rights = this.#deps.access.rightsOf(message.person);
    const typed = message.files.length > 0 ? null : parseAllowedInput(rights, message.text);
    const lane = this.#laneOf(message);
    if (typed !== null && typed.kind !== "message" && typed.kind !== "nothing") {
      const said = await this.#commands.execute(typed, message, lane);
      if (said === "done") return;
      return this.#admit(message, lane, said.text, said.mode);
    }
    const text = typed?.kind === "message" ? typed.text : message.text;
    if (typed?.kind === "message" && (await this.#answer(message, lane, text))) return;
    return this.#admit(message, lane, text, "queue");
  }

  /** Whether it was the answer to a question that waits for this person here. */
  async #answer(message: IncomingMessage, lane: LaneKey, text: string): Promise<boolean> {
    const { owner, runner, notifyOutbox: owes } = this.#deps;
    const key = this.#keyOf(message);
    const result = await answerWithText(this.#deps, { message, text, lane, key });
    switch (result?.status) {
      case undefined:
        return false;
      case "answered":
        runner.notify(owner, result.approval.session);
        owes(result.approval.session);
        return true;
      case "failed":
        throw new RetryLater(result.message);
      case "not_found":
      case "refused":
        return true;
    }
  }

  #laneOf({ address: place }: Incoming): LaneKey {
    return this.#deps.addressing.laneOf(place);
  }

  #keyOf(incoming: Incoming): string {
    return this.#deps.addressing.inboundKeyOf(incoming);
  }

  async #admit(
    message: IncomingMessage,
    lane: LaneKey,
    text: string,
    mode: InputMode,
  ): Promise<void> {
    const { addressing: names, runner, owner, notifyOutbox: owes } = this.#deps;
    const { address: place, files } = message;
    const key = this.#keyOf(message);
    const admitted = await admitChatMessage(this.#deps, {
      key,
      clientId: names.clientIdOf(message),
      lane,
      replyTo: place.kind === "group" ? message.messageId : null,
      text: promptText(message, text),
      mode,
      files,
    });
    if (admitted.status === "away" && this.#isWorthAnotherTry(key))
      throw new RetryLater(admitted.why);
    switch (admitted.status) {
      case "admitted":
      case "taken":
        this.#fetches.delete(key);
        runner.notify(owner, admitted.session);
        return owes(admitted.session);
      case "away":
      case "unreadable":
        return this.#tell(
          message,
          `The file ${admitted.file} could not be taken: ${admitted.why.replace(/\.$/, "")}. Send it again.`,
        );
      case "failed":
        throw new RetryLater(admitted.message);
      case "refused":
        return this.#tell(message, admitted.message);
    }
  }

  /** A file that cannot be fetched holds up what came with it for a while, and not for good. */
  #isWorthAnotherTry(key: string): boolean {
    const tries = (this.#fetches.get(key) ?? 0) + 1;
    if (tries < maxFetchAttempts) this.#fetches.set(key, tries);
    else this.#fetches.delete(key);
    return tries < maxFetchAttempts;
  }

  /** A line back, where there is a session to owe it from; otherwise it is said at once, and may be said again. */
  async #tell(message: IncomingMessage, text: string): Promise<void> {
    const { notifyOutbox: owes } = this.#deps;
    const lane = this.#laneOf(message);
    const session = await sessionOfLane(this.#deps, lane);
    const owed = { lane, key: this.#keyOf(message), replyTo: null };
    const told = session && (await enqueueNote(this.#deps, { ...owed, session }, text));
    if (session !== null && told === "owed") owes(session);
    else await this.#sendAtOnce(message.address, text);
  }

  /** Outside of every session, so that nobody repeats it. */
  async #sendAtOnce(place: ChatAddress, text: string): Promise<void> {
    const { adapter, ids } = this.#deps;
    const parcel = { id: ids.make("delivery"), replyTo: null };
    await adapter.send(place, { text }, parcel, AbortSignal.timeout(10_000));
  }

  /** What still waits is changed; what was taken up stays what it was. */
  async #edit(message: IncomingMessage): Promise<void> {
    const { log, ids, owner, addressing: names } = this.#deps;
    const row = await log.store.reads.inbound(owner, this.#keyOf(message));
    if (row === null) return;
    const { session } = row;
    const clientId = names.clientIdOf(message);
    const inbox = (await log.store.reads.snapshot(owner, session, { limit: 1 }))?.inbox ?? [];
    const input = inbox.find((each) => each.clientId === clientId);
    if (input === undefined) return;
    const { messageId } = input;
    const text = promptText(message, message.text);
    const changed = await changeInput(log, ids, { owner, session, messageId }, { text });
    if (changed.status === "failed") throw new RetryLater(changed.message);
  }

  async #press(pressed: ButtonPress): Promise<string | null> {
    const told = await this.#answerPress(pressed);
    const { adapter } = this.#deps;
    await adapter.acknowledgePress(pressed.press, told ?? "", AbortSignal.timeout(10_000));
    return told;
  }

  async #answerPress(pressed: ButtonPress): Promise<string | null> {
    const { person, address: place, messageId: message, data } = pressed;
    const { access: people, adapter, log, ids, owner, runner } = this.#deps;
    const answer = parseButtonAnswer(data);
    const isTheirs =
      answer !== null &&
      (await people.isAllowed(person)) &&
      (await mayAnswer(this.#deps, answer.approval, pressed));
    if (!isTheirs) return "This is not yours to answer.";
    const words = await this.#wordsOf(answer);
    if (words === null) return "That is no answer to it.";
    const said = { ...words, by: answeredBy(adapter.platform, person) };
    const result = await answerApproval(log, ids, owner, answer.approval, answer.answer, said);
    switch (result.status) {
      case "answered":
        runner.notify(owner, result.approval.session);
        this.#deps.notifyOutbox(result.approval.session);
        // Its buttons go, also where a crash has kept us from knowing that this message is ours.
        if (adapter.capabilities.edits)
          await adapter.edit(
            place,
            message,
            approvalMessage(result.approval),
            AbortSignal.timeout(10_000),
          );
        return null;
      case "failed":
        throw new RetryLater(result.message);
      case "not_found":
        return "There is no such question any more.";
      case "refused":
        return result.message;
    }
  }

  /** What a press says beside yes or no; `null` where it does not fit what is asked: a yes to a question without an answer says nothing. */
  async #wordsOf({ approval, answer, choice }: ButtonAnswer): Promise<AnswerDetails | null> {
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
function promptText({ quoted, address: place, person }: IncomingMessage, text: string): string {
  const quote = quoted === null ? "" : `> ${quoted.slice(0, 1_000).replaceAll("\n", "\n> ")}\n\n`;
  const speaker = place.kind === "group" && person.name !== "" ? `${person.name}: ` : "";
  return `${quote}${speaker}${text}`;
}
