import { type CommandAnswer, executeCommand, type Invocation, type Typed } from "@holdfast/client";
import { commands, type InputMode, type LaneKey, type SessionId } from "@holdfast/protocol";

import type { CommandLine, Incoming } from "../adapter.ts";
import { hasBegun, sessionFor, sessionOfLane } from "../lane-session.ts";
import { commandWords } from "./chat-commands.ts";
import { oweAnswer, oweNote, settleUnknown } from "../outbound/enqueue.ts";
import { moveLane, type ReceptionDeps } from "./reception-deps.ts";
import { mayUse } from "./rights.ts";
import { TryAgain } from "./admit-message.ts";

type Message = Extract<Incoming, { kind: "message" | "edit" }>;
type Command = Exclude<Typed, { kind: "message" | "nothing" }>;

/** What is still a message for the model, and how it is given. */
export interface Said {
  readonly text: string;
  readonly mode: InputMode;
}

const greeting =
  "Hello. Say what you want; everything here is kept. /new begins a new session, /sessions lists them, /stop ends an answer, /help tells the rest.";

/** What a platform offers while somebody types. */
export const menu: readonly CommandLine[] = [
  ...commands.map(({ name, help }) => ({ name, help })),
  { name: "interrupt", help: "Stop the answer that is being written and say this instead." },
  { name: "resend", help: "See again what may not have arrived." },
];

/** Commands in a chat: the same table as everywhere, and the few words that only a chat has. */
export class ChatCommands {
  readonly #deps: ReceptionDeps;

  constructor(deps: ReceptionDeps) {
    this.#deps = deps;
  }

  async take(typed: Command, message: Message, lane: LaneKey): Promise<"done" | Said> {
    const { log, owner, names } = this.#deps;
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
      unlessFailed(await moveLane(this.#deps, lane, answer.session.id, key));
    if (answer.kind === "sent") return this.#owe(here, answer.sessionId, answer.runId);
    const words = commandWords(answer);
    return words === null ? "done" : this.#tell(here, words);
  }

  async #execute(
    invocation: Invocation,
    { message, lane, key }: Here,
    sessionId: SessionId | null,
  ): Promise<CommandAnswer> {
    const { client, people } = this.#deps;
    const rights = people.rightsOf(message.person);
    const place = { client, sessionId, lane, key, now: Date.now };
    const mayReach = (id: SessionId) => hasBegun(this.#deps, lane, id);
    const reach = rights.sessions === "all" ? {} : { mayReach };
    const answer = await executeCommand({ ...place, ...reach }, invocation);
    if (answer.kind !== "help") return answer;
    return { ...answer, commands: answer.commands.filter(({ name }) => mayUse(rights, name)) };
  }

  async #own(
    { name, nearest }: Extract<Command, { kind: "unknown" }>,
    here: Here,
  ): Promise<"done" | Said> {
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
  async #resend(here: Here): Promise<"done"> {
    const { log, owner, owes } = this.#deps;
    const session = await sessionOfLane(this.#deps, here.lane);
    const unknown =
      session === null
        ? []
        : await log.store.reads.outbox(owner, { session, states: ["unknown"], limit: 20 });
    const ours = unknown.filter(({ lane }) => lane === here.lane);
    if (session === null || ours.length === 0) return this.#tell(here, "Nothing is missing here.");
    for (const row of ours) await settleUnknown(this.#deps, row, "resend", here.key);
    owes(session);
    return "done";
  }

  async #owe(
    { lane, key }: Here,
    session: SessionId,
    runId: Parameters<typeof oweAnswer>[2],
  ): Promise<"done"> {
    unlessFailed(await oweAnswer(this.#deps, { session, lane, key, replyTo: null }, runId));
    this.#deps.owes(session);
    return "done";
  }

  async #tell({ lane, key }: Here, text: string): Promise<"done"> {
    const session = await sessionFor(this.#deps, lane, key);
    unlessFailed(await oweNote(this.#deps, { session, lane, key, replyTo: null }, text));
    this.#deps.owes(session);
    return "done";
  }
}

interface Here {
  readonly message: Message;
  readonly lane: LaneKey;
  readonly key: string;
}

/** P11: what could not be kept is not confirmed. The command comes again under its key, and is done once. */
function unlessFailed(status: string): void {
  if (status === "failed") throw new TryAgain("The store could not keep what became of a command.");
}
