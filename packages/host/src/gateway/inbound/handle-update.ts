import { answerApproval, type AnswerDetails, changeInput } from "@holdfast/engine";
import type { ApprovalId, InputMode, LaneKey, QuotedRanges, SessionId } from "@holdfast/protocol";

import type { Incoming, ChatAddress } from "../adapter.ts";
import { sessionOfLane } from "../lanes.ts";
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
import { botStrings } from "../strings.ts";

type IncomingMessage = Extract<Incoming, { kind: "message" | "edit" }>;
type ButtonPress = Extract<Incoming, { kind: "press" }>;

const maxFetchAttempts = 5;

const planNotShown = botStrings.plan.tooLong;

/**
 * Handles incoming updates. An update that arrives again, after a crash or through a second poller, has no further
 * effect.
 */
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
   * Handles the updates of one chat in order, and chats in parallel. Resolves to the reason why a button press was
   * refused, if it was. Rejects with `RetryLater` when the update must not be confirmed.
   */
  handle(incoming: Incoming): Promise<string | null> {
    const { chat } = incoming.address;
    const previous = this.#chats.get(chat) ?? Promise.resolve(null);
    const work = previous.catch(() => undefined).then(() => this.#handle(incoming));
    this.#chats.set(chat, work);
    const forget = () => void (this.#chats.get(chat) === work && this.#chats.delete(chat));
    work.then(forget, forget);
    return work;
  }

  async #handle(incoming: Incoming): Promise<string | null> {
    if (incoming.kind === "press") return this.#press(incoming);
    if (!(await this.#isAdmitted(incoming)) || !incoming.addressed) return null;
    const { chatTitle, address } = incoming;
    if (chatTitle !== undefined) await this.#deps.titles.remember(address.chat, chatTitle);
    if (incoming.kind === "edit") await this.#edit(incoming);
    else await this.#handleMessage(incoming);
    return null;
  }

  /** An unknown person costs one read and, once, one message. In a group they get no reply at all. */
  async #isAdmitted({ person, address, kind }: IncomingMessage): Promise<boolean> {
    const { access } = this.#deps;
    if (await access.isAllowed(person)) return true;
    if (address.kind !== "private" || kind !== "message") return false;
    const pairing = await access.requestPairing(person, address.chat);
    if (typeof pairing === "string") return pairing === "allowed";
    const text = botStrings.private(pairing.code);
    await this.#sendDirectly(address, text);
    return false;
  }

  async #handleMessage(message: IncomingMessage): Promise<void> {
    const rights = this.#deps.access.rightsOf(message.person);
    const typed = message.files.length > 0 ? null : parseAllowedInput(rights, message.text);
    const lane = this.#laneOf(message);
    if (typed !== null && typed.kind !== "message" && typed.kind !== "nothing") {
      const input = await this.#commands.execute(typed, message, lane);
      if (input === "done") return;
      return this.#admit(message, lane, input.text, input.mode);
    }
    const text = typed?.kind === "message" ? typed.text : message.text;
    if (typed?.kind === "message" && (await this.#answer(message, lane, text))) return;
    return this.#admit(message, lane, text, "queue");
  }

  /** A new message in a lane without open questions cannot be an answer. */
  async #mayBeAnswer(message: IncomingMessage, lane: LaneKey): Promise<boolean> {
    const { log, owner } = this.#deps;
    const { reads } = log.store;
    if ((await reads.inbound(owner, this.#keyOf(message))) !== null) return true;
    const session = await sessionOfLane(this.#deps, lane);
    if (session === null) return false;
    return (await reads.approvals(owner, { session, limit: 1 })).approvals.length > 0;
  }

  /** Whether the message answered a question that is open for this person here. */
  async #answer(message: IncomingMessage, lane: LaneKey, text: string): Promise<boolean> {
    if (!(await this.#mayBeAnswer(message, lane))) return false;
    const key = this.#keyOf(message);
    const result = await answerWithText(this.#deps, { message, text, lane, key });
    switch (result?.status) {
      case undefined:
        return false;
      case "answered":
        this.#notify(result.approval.session);
        return true;
      case "failed":
        throw new RetryLater(result.message);
      case "not_shown":
        await this.#reply(message, planNotShown);
        return true;
      case "not_found":
      case "refused":
        return true;
    }
  }

  #notify(session: SessionId): void {
    const { owner, runner, dispatcher } = this.#deps;
    runner.notify(owner, session);
    dispatcher.notify(owner, session);
  }

  #laneOf({ address }: Incoming): LaneKey {
    return this.#deps.addressing.laneOf(address);
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
    const { addressing } = this.#deps;
    const { address, files } = message;
    const key = this.#keyOf(message);
    const admitted = await admitChatMessage(this.#deps, {
      key,
      clientId: addressing.clientIdOf(message),
      lane,
      replyTo: address.kind === "group" ? message.messageId : null,
      ...promptOf(message, text),
      mode,
      files,
    });
    if (admitted.status === "away" && this.#mayRetryFetch(key))
      throw new RetryLater(admitted.reason);
    switch (admitted.status) {
      case "admitted":
      case "taken":
        this.#fetches.delete(key);
        return this.#notify(admitted.session);
      case "away":
      case "unreadable":
        return this.#reply(
          message,
          botStrings.fileRefused(admitted.file, admitted.reason.replace(/\.$/, "")),
        );
      case "failed":
        throw new RetryLater(admitted.message);
      case "refused":
        return this.#reply(message, admitted.message);
    }
  }

  /** A file that cannot be fetched delays its message for a few attempts, not forever. */
  #mayRetryFetch(key: string): boolean {
    const attempts = (this.#fetches.get(key) ?? 0) + 1;
    if (attempts < maxFetchAttempts) this.#fetches.set(key, attempts);
    else this.#fetches.delete(key);
    return attempts < maxFetchAttempts;
  }

  /** Replies through the outbox if there is a session; otherwise sends directly, and may send twice. */
  async #reply(message: IncomingMessage, text: string): Promise<void> {
    const { owner, dispatcher } = this.#deps;
    const lane = this.#laneOf(message);
    const session = await sessionOfLane(this.#deps, lane);
    const target = { lane, key: this.#keyOf(message), replyTo: null };
    const enqueued = session && (await enqueueNote(this.#deps, { ...target, session }, text));
    if (session !== null && enqueued === "queued") dispatcher.notify(owner, session);
    else await this.#sendDirectly(message.address, text);
  }

  /** Not stored in any session, so nothing ever resends it. */
  async #sendDirectly(address: ChatAddress, text: string): Promise<void> {
    const { adapter, ids } = this.#deps;
    const meta = { id: ids.make("delivery"), replyTo: null };
    await adapter.send(address, { text }, meta, AbortSignal.timeout(10_000));
  }

  /** Changes a message that is still queued; one that a run has taken up stays as it was. */
  async #edit(message: IncomingMessage): Promise<void> {
    const { log, ids, owner, addressing } = this.#deps;
    const row = await log.store.reads.inbound(owner, this.#keyOf(message));
    if (row === null) return;
    const { session } = row;
    const clientId = addressing.clientIdOf(message);
    const inbox = (await log.store.reads.snapshot(owner, session, { limit: 1 }))?.inbox ?? [];
    const input = inbox.find((queued) => queued.clientId === clientId);
    if (input === undefined) return;
    const { messageId } = input;
    const content = promptOf(message, message.text);
    const changed = await changeInput(log, ids, { owner, session, messageId }, content);
    if (changed.status === "failed") throw new RetryLater(changed.message);
  }

  async #press(pressed: ButtonPress): Promise<string | null> {
    const refusal = await this.#answerPress(pressed);
    const { adapter } = this.#deps;
    await adapter.acknowledgePress(pressed.press, refusal ?? "", AbortSignal.timeout(10_000));
    return refusal;
  }

  async #answerPress(pressed: ButtonPress): Promise<string | null> {
    const { person, address, messageId, data } = pressed;
    const { access, adapter, log, ids, owner } = this.#deps;
    const answer = parseButtonAnswer(data);
    const isTheirs =
      answer !== null &&
      (await access.isAllowed(person)) &&
      (await mayAnswer(this.#deps, answer.approval, pressed));
    if (!isTheirs) return botStrings.approval.notTheirs;
    if (!(await this.#mayDecide(answer.approval, pressed))) return botStrings.approval.elsewhere;
    const details = await this.#answerDetailsOf(answer);
    if (details === null) return botStrings.approval.notAnAnswer;
    const attributed = { ...details, by: answeredBy(adapter.platform, person) };
    const result = await answerApproval(
      log,
      ids,
      owner,
      answer.approval,
      answer.answer,
      attributed,
    );
    switch (result.status) {
      case "answered":
        this.#notify(result.approval.session);
        // Removes the buttons even if a crash kept us from recording the message's id.
        if (adapter.capabilities.edits)
          await adapter.edit(
            address,
            messageId,
            approvalMessage(result.approval),
            AbortSignal.timeout(10_000),
          );
        return null;
      case "failed":
        throw new RetryLater(result.message);
      case "not_found":
        return botStrings.approval.gone;
      case "refused":
        return result.message;
    }
  }

  /**
   * Whoever brings a stranger's text must not approve what that text asked for. A question has no effect of its own,
   * and may be answered where it was asked.
   */
  async #mayDecide(id: ApprovalId, pressed: ButtonPress): Promise<boolean> {
    const { log, owner, rights } = this.#deps;
    if ((await rights.ofLane(owner, this.#laneOf(pressed))).approvals) return true;
    const details = (await log.store.reads.approval(owner, id))?.details;
    // Approving a plan switches the mode.
    return details?.kind === "question" && details.plan !== true;
  }

  /** What a press adds to yes or no; `null` if it does not fit the question: a bare yes does not answer a question. */
  async #answerDetailsOf({
    approval,
    answer,
    choice,
  }: ButtonAnswer): Promise<AnswerDetails | null> {
    const { log, owner } = this.#deps;
    const row = await log.store.reads.approval(owner, approval);
    if (row === null || answer === "deny") return {};
    const isQuestion = row.details.kind === "question";
    if (choice === undefined) return isQuestion ? null : {};
    const chosen = choicesOf(row)[choice];
    return chosen === undefined ? null : { answer: chosen };
  }
}

/** In a group, tells the model who is speaking and which message they reply to; and what of it is another's text. */
function promptOf(
  { quoted: replied, forwarded, address, person }: IncomingMessage,
  text: string,
): { readonly text: string; readonly quoted: QuotedRanges } {
  const quote = replied === null ? "" : `> ${replied.slice(0, 1_000).replaceAll("\n", "\n> ")}\n\n`;
  const speaker = address.kind === "group" && person.name !== "" ? `${person.name}: ` : "";
  const whole = `${quote}${speaker}${text}`;
  const othersEnd = forwarded === true ? whole.length : quote.length;
  return { text: whole, quoted: othersEnd === 0 ? [] : [[0, othersEnd]] };
}
