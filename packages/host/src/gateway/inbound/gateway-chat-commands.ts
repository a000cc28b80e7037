import {
  type CommandAnswer,
  executeCommand,
  type Invocation,
  type ParsedInput,
} from "@holdfast/client";
import { commands, type InputMode, type LaneKey, type SessionId } from "@holdfast/protocol";

import type { CommandMenuItem, Incoming } from "../adapter.ts";
import { ownsSession, sessionForLane, sessionOfLane } from "../lane-session.ts";
import { commandReply } from "./chat-commands.ts";
import { enqueueAnswer, enqueueNote, settleUnknownChunk } from "../outbound/enqueue.ts";
import { bindLane, type InboundDeps } from "./reception-deps.ts";
import { mayUseCommand } from "./rights.ts";
import { RetryLater } from "./admit-message.ts";

type CommandMessage = Extract<Incoming, { kind: "message" | "edit" }>;
type Command = Exclude<ParsedInput, { kind: "message" | "nothing" }>;

/** What is still a message for the model, and how it is given. */
export interface PromptInput {
  readonly text: string;
  readonly mode: InputMode;
}

const greeting =
  "Hello. Say what you want; everything here is kept. /new begins a new session, /sessions lists them, /stop ends an answer, /help tells the rest.";

/** What a platform offers while somebody types. */
export const commandMenu: readonly CommandMenuItem[] = [
  ...commands.map(({ name, help }) => ({ name, help })),
  { name: "interrupt", help: "Stop the answer that is being written and say this instead." },
  { name: "resend", help: "See again what may not have arrived." },
];

/** Commands in a chat: the same table as everywhere, and the few words that only a chat has. */
export class ChatCommands {
  readonly #deps: InboundDeps;

  constructor(deps: InboundDeps) {
    this.#deps = deps;
  }

  async execute(
    typed: Command,
    message: CommandMessage,
    lane: LaneKey,
  ): Promise<"done" | PromptInput> {
    const { log, owner, addressing: names } = this.#deps;
    const key = names.inboundKeyOf(message);
    const here = { message, lane, key };
    if (typed.kind === "misused") return this.#tell(here, typed.sentence);
    if (typed.kind === "unknown") return this.#own(typed, here);
    const { name, argument } = typed.invocation;
    if (name === "steer" || (name === "queue" && argument !== ""))
      return { text: argument, mode: name };
    // P11: what was done and answered before is not done again.
    if ((await log.store.reads.inbound(owner, key)) !== null) return "done";
    const before = await sessionOfLane(this.#deps, lane);
    const answer = await this.#execute(typed.invocation, here, before);
    if (answer.kind === "moved")
      throwIfFailed(await bindLane(this.#deps, lane, answer.session.id, key));
    if (answer.kind === "sent") return this.#owe(here, answer.sessionId, answer.runId);
    const words = commandReply(answer);
    return words === null ? "done" : this.#tell(here, words);
  }

  async #execute(
    invocation: Invocation,
    { message, lane, key }: CommandContext,
    sessionId: SessionId | null,
  ): Promise<CommandAnswer> {
    const { client, access: people } = this.#deps;
    const rights = people.rightsOf(message.person);
    const place = { client, sessionId, lane, key, now: Date.now };
    const mayReach = (id: SessionId) => ownsSession(this.#deps, lane, id);
    const reach = rights.sessions === "all" ? {} : { mayReach };
    const answer = await executeCommand({ ...place, ...reach }, invocation);
    if (answer.kind !== "help") return answer;
    return {
      ...answer,
      commands: answer.commands.filter(({ name }) => mayUseCommand(rights, name)),
    };
  }

  async #own(
    { name, nearest }: Extract<Command, { kind: "unknown" }>,
    here: CommandContext,
  ): Promise<"done" | PromptInput> {
    const { text } = here.message;
    const rest = text.slice(name.length + 1).trim();
    switch (name.toLowerCase()) {
      case "start":
        return this.#tell(here, greeting);
      case "interrupt":
        return rest === ""
          ? this.#tell(here, "/interrupt needs words.")
          : { text: rest, mode: "interrupt" };
      case "resend":
        return this.#resend(here);
      default:
        return this.#tell(here, `There is no command /${name}. Did you mean /${nearest}?`);
    }
  }

  /** Whatever is unknown in this chat's session goes out again, because a person asked for it. */
  async #resend(here: CommandContext): Promise<"done"> {
    const { log, owner, notifyOutbox: owes } = this.#deps;
    const session = await sessionOfLane(this.#deps, here.lane);
    const unknown =
      session === null
        ? []
        : await log.store.reads.outbox(owner, { session, states: ["unknown"], limit: 20 });
    const ours = unknown.filter(({ lane }) => lane === here.lane);
    if (session === null || ours.length === 0) return this.#tell(here, "Nothing is missing here.");
    for (const row of ours) await settleUnknownChunk(this.#deps, row, "resend", here.key);
    owes(session);
    return "done";
  }

  async #owe(
    { lane, key }: CommandContext,
    session: SessionId,
    runId: Parameters<typeof enqueueAnswer>[2],
  ): Promise<"done"> {
    throwIfFailed(await enqueueAnswer(this.#deps, { session, lane, key, replyTo: null }, runId));
    this.#deps.notifyOutbox(session);
    return "done";
  }

  async #tell({ lane, key }: CommandContext, text: string): Promise<"done"> {
    const session = await sessionForLane(this.#deps, lane, key);
    throwIfFailed(await enqueueNote(this.#deps, { session, lane, key, replyTo: null }, text));
    this.#deps.notifyOutbox(session);
    return "done";
  }
}

interface CommandContext {
  readonly message: CommandMessage;
  readonly lane: LaneKey;
  readonly key: string;
}

/** P11: what could not be kept is not confirmed. The command comes again under its key, and is done once. */
function throwIfFailed(status: string): void {
  if (status === "failed")
    throw new RetryLater("The store could not keep what became of a command.");
}
