import {
  asksForSkill,
  type CommandAnswer,
  describeAlternatives,
  describeFact,
  describeMode,
  describeProcess,
  describeReread,
  describeRestored,
  describeSchedule,
  describeSpendLimit,
  givenUpText,
  shortId,
  executeCommand,
  type Invocation,
  type ParsedInput,
} from "@holdfast/client";
import {
  type CommandSpec,
  type SessionView,
  commandUsage,
  commands,
  type InputMode,
  type LaneKey,
  modeOf,
  type SessionId,
  sessionMode,
} from "@holdfast/protocol";
import { mayRestoreFiles } from "../../rights/file-restores.ts";
import { refuseMode } from "../../rights/session-modes.ts";
import type { CommandMenuItem, Incoming } from "../adapter.ts";
import { bindLane, ownsSession, sessionForLane, sessionOfLane } from "../lanes.ts";
import { enqueueAnswer, enqueueNote, settleUnknownChunk } from "../outbound/enqueue.ts";
import { type InboundDeps, RetryLater } from "./admit-message.ts";
import { type AccessRights, mayUseCommand } from "./chat-access.ts";
import { botStrings } from "../strings.ts";
import { formatNumber } from "@holdfast/protocol";

type CommandMessage = Extract<Incoming, { kind: "message" | "edit" }>;
type Command = Exclude<ParsedInput, { kind: "message" | "nothing" }>;

/** Text for the model, and how to queue it. */
export interface PromptInput {
  readonly text: string;
  readonly mode: InputMode;
}

interface CommandContext {
  readonly message: CommandMessage;
  readonly lane: LaneKey;
  readonly key: string;
}

const restoringCommands: ReadonlySet<string> = new Set(["undo", "redo", "alternatives"]);
const greeting = botStrings.start;

/** Offered by the platform while somebody types. */
export const commandMenu: readonly CommandMenuItem[] = [
  ...commands.map(({ name, help }) => ({ name, help })),
  { name: "interrupt", help: botStrings.commands.interrupt },
  { name: "resend", help: botStrings.commands.resend },
];

/** Commands in a chat: the common table, and the few that only chats have. */
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
    const { log, owner, addressing } = this.#deps;
    const key = addressing.inboundKeyOf(message);
    const context = { message, lane, key };
    if (typed.kind === "misused") return this.#reply(context, typed.sentence);
    if (typed.kind === "unknown") return this.#executeChatCommand(typed, context);
    const { name, argument } = typed.invocation;
    if (name === "steer" || (name === "queue" && argument !== ""))
      return { text: argument, mode: name };
    // P11: a command that was executed and answered before is not executed again.
    if ((await log.store.reads.inbound(owner, key)) !== null) return "done";
    const current = await sessionOfLane(this.#deps, lane);
    const refusal =
      name === "mode"
        ? await this.#refuseMode(lane, current, argument)
        : await this.#refuseFiles(lane, typed.invocation);
    if (refusal !== null) return this.#reply(context, refusal);
    const answer = await this.#execute(typed.invocation, context, current);
    if (answer.kind === "moved")
      throwIfFailed(await bindLane(this.#deps, lane, answer.session.id, key));
    if (answer.kind === "sent") return this.#enqueueAnswer(context, answer.sessionId, answer.runId);
    const text = commandReply(answer);
    return text === null ? "done" : this.#reply(context, text);
  }

  /** The command runs as the owner, so whether this lane may widen the mode is decided here. */
  async #refuseMode(
    lane: LaneKey,
    current: SessionId | null,
    argument: string,
  ): Promise<string | null> {
    const { log, owner, rights } = this.#deps;
    const { reads } = log.store;
    const mode = sessionMode.safeParse(argument);
    const row = current && mode.success ? await reads.session(owner, current) : null;
    if (row === null || !mode.success) return null;
    return refuseMode(reads, row, mode.data, await rights.ofLane(owner, lane));
  }

  /** The same for files, which only those may put back who may write them. */
  async #refuseFiles(lane: LaneKey, { name, argument }: Invocation): Promise<string | null> {
    const { owner, rights } = this.#deps;
    const restores = restoringCommands.has(name) && argument.includes("files");
    if (!restores || mayRestoreFiles(await rights.ofLane(owner, lane))) return null;
    return botStrings.reply.filesRefused;
  }

  async #execute(
    invocation: Invocation,
    { message, lane, key }: CommandContext,
    sessionId: SessionId | null,
  ): Promise<CommandAnswer> {
    const { client, log, owner } = this.#deps;
    const rights = await this.#rightsOf(message, lane);
    const { memory } = await this.#deps.rights.ofLane(owner, lane);
    const commandDeps = { client, sessionId, lane, key, now: Date.now, memory };
    const mayReach = (id: SessionId) => ownsSession({ reads: log.store.reads, owner }, lane, id);
    const restriction = rights.sessions === "all" ? {} : { mayReach };
    const answer = await executeCommand({ ...commandDeps, ...restriction }, invocation);
    if (answer.kind !== "help") return answer;
    return {
      ...answer,
      commands: answer.commands.filter(({ name }) => mayUseCommand(rights, name)),
    };
  }

  /** In a group, the sessions that others of it may not see stay out of reach. */
  async #rightsOf({ person }: CommandMessage, lane: LaneKey): Promise<AccessRights> {
    const { access, rights, owner } = this.#deps;
    const allowed = access.rightsOf(person);
    // What a webhook's commands reach is configured with it.
    if (allowed.sessions === "own" || lane.startsWith("webhook:")) return allowed;
    const { sessions } = await rights.ofLane(owner, lane);
    return { ...allowed, sessions: sessions === "all" ? "all" : "own" };
  }

  async #executeChatCommand(
    { name, nearest }: Extract<Command, { kind: "unknown" }>,
    context: CommandContext,
  ): Promise<"done" | PromptInput> {
    const { text } = context.message;
    const rest = text.slice(name.length + 1).trim();
    switch (name.toLowerCase()) {
      case "start":
        return this.#reply(context, greeting);
      case "interrupt":
        return rest === ""
          ? this.#reply(context, botStrings.interruptNeedsText)
          : { text: rest, mode: "interrupt" };
      case "resend":
        return this.#resend(context);
      default:
        return (await this.#asksForSkill(name, context))
          ? { text, mode: "queue" }
          : this.#reply(context, botStrings.unknownCommand(name, nearest));
    }
  }

  /** Lanes without access to memory have no skills, and are not told of any. */
  async #asksForSkill(name: string, { lane }: CommandContext): Promise<boolean> {
    const { client, owner, rights } = this.#deps;
    const { memory } = await rights.ofLane(owner, lane);
    if (memory === "none") return false;
    return asksForSkill({ client, sessionId: await sessionOfLane(this.#deps, lane) }, name);
  }

  /** Sends all chunks of unknown fate in this chat's session again, because a person asked for it. */
  async #resend(context: CommandContext): Promise<"done"> {
    const { log, owner, dispatcher } = this.#deps;
    const session = await sessionOfLane(this.#deps, context.lane);
    const unknown =
      session === null
        ? []
        : await log.store.reads.outbox(owner, { session, states: ["unknown"], limit: 20 });
    const undelivered = unknown.filter(({ lane }) => lane === context.lane);
    if (session === null || undelivered.length === 0)
      return this.#reply(context, botStrings.nothingToResend);
    for (const row of undelivered) await settleUnknownChunk(this.#deps, row, "resend", context.key);
    dispatcher.notify(owner, session);
    return "done";
  }

  async #enqueueAnswer(
    { lane, key }: CommandContext,
    session: SessionId,
    runId: Parameters<typeof enqueueAnswer>[2],
  ): Promise<"done"> {
    throwIfFailed(await enqueueAnswer(this.#deps, { session, lane, key, replyTo: null }, runId));
    this.#deps.dispatcher.notify(this.#deps.owner, session);
    return "done";
  }

  async #reply({ lane, key }: CommandContext, text: string): Promise<"done"> {
    const session = await sessionForLane(this.#deps, lane, key);
    throwIfFailed(await enqueueNote(this.#deps, { session, lane, key, replyTo: null }, text));
    this.#deps.dispatcher.notify(this.#deps.owner, session);
    return "done";
  }
}

/**
 * P11: a command whose result could not be stored is not confirmed. It is delivered again under its key, and takes
 * effect once.
 */
function throwIfFailed(status: string): void {
  if (status === "failed") throw new RetryLater("The store could not save a command's result.");
}

const texts = botStrings.reply;
const maxReplyLength = 3_500;

/** A command's result in a few lines. `null`: the answer itself shows it. */
export function commandReply(answer: CommandAnswer): string | null {
  const text = fullReply(answer);
  return text === null || text.length <= maxReplyLength
    ? text
    : `${text.slice(0, maxReplyLength)}…`;
}

function fullReply(answer: CommandAnswer): string | null {
  switch (answer.kind) {
    case "help":
      return answer.commands.map(helpLine).join("\n");
    case "moved":
      return answer.how === "resumed" ? texts.resumed(titleOf(answer.session)) : texts.begun;
    case "sessions": {
      if (answer.sessions.length === 0) return texts.noSessions;
      const head = answer.why === "which" ? texts.which : texts.sessions;
      const rows = answer.sessions.map((session) => {
        const marker = session.id === answer.current ? texts.here : "";
        return `- ${titleOf(session)} — \`/resume ${shortId(session.id)}\`${marker}`;
      });
      return [head, ...rows].join("\n");
    }
    case "changed":
      return answer.what === "mode_chosen"
        ? texts.modeChosen(describeMode(modeOf(answer.session)))
        : [
            texts.changed[answer.what],
            ...(answer.reread === undefined ? [] : [describeReread(answer.reread)]),
          ].join(" ");
    case "files": {
      const { cause, conversation, files } = answer;
      const said = describeRestored(cause, files);
      return conversation === "changed" ? `${texts.withFiles[cause]} ${said}` : said;
    }
    case "files_left":
      return `${texts.changed.switched} ${texts.filesLeft(answer.number, answer.count)}`;
    case "sent":
    case "stopped":
      return answer.kind === "stopped" && answer.run === null ? texts.nothingToStop : null;
    case "given_up":
      return givenUpText(answer.settled);
    case "compacting":
      return texts.compacting[answer.outcome];
    case "model":
      return texts.model(answer.model ?? texts.defaultModel);
    case "mode":
      return texts.mode(describeMode(answer.mode));
    case "persona":
      return answer.personas
        .map(({ id, name }) => `- ${name}${id === answer.current ? texts.here : ""}`)
        .join("\n");
    case "project":
      if (answer.projects.length === 0) return texts.noProjects;
      return answer.projects
        .map(({ name }) => `- ${name}${name === answer.current ? texts.here : ""}`)
        .join("\n");
    case "skills":
      return [
        ...answer.skills.map(({ name, description }) => `- /${name}: ${description}`),
        ...(answer.skills.length === 0 ? [texts.noSkills] : []),
        ...(answer.waiting === 0 ? [] : [texts.skillsWaiting(answer.waiting)]),
      ].join("\n");
    case "agents":
      return [
        ...answer.agents.map(({ name, description }) => `- ${name}: ${description}`),
        ...(answer.agents.length === 0 ? [texts.noAgents] : []),
        ...(answer.waiting === 0 ? [] : [texts.agentsWaiting(answer.waiting)]),
      ].join("\n");
    case "title":
      return texts.title(answer.title ?? texts.noTitle);
    case "memory":
      return memoryReply(answer);
    case "fact":
      return texts.fact[answer.what](answer.text);
    case "usage":
      return texts.usage(
        formatNumber(answer.today.input + answer.today.output),
        formatNumber(answer.all.input + answer.all.output),
      );
    case "limits":
      return answer.limits.map((limit) => `- ${describeSpendLimit(limit)}`).join("\n");
    case "status": {
      const { session, run, inbox, approvals } = answer;
      const waiting = inbox.length === 0 ? "" : ` ${texts.queued(inbox.length)}`;
      const questions = approvals.length === 0 ? "" : ` ${texts.questions(approvals.length)}`;
      return `**${titleOf(session)}**: ${botStrings.runStates[run?.state ?? "completed"]}.${waiting}${questions}`;
    }
    case "schedules":
      if (answer.schedules.length === 0) return texts.noSchedules;
      return answer.schedules.map((schedule) => `- ${describeSchedule(schedule)}`).join("\n");
    case "processes":
      if (answer.processes.length === 0) return texts.noProcesses;
      return answer.processes.map((process) => `- ${describeProcess(process)}`).join("\n");
    case "alternatives":
      if (answer.turns.length === 0) return texts.oneVersion;
      return [...describeAlternatives(answer.turns).flat(), texts.showVersion].join("\n");
    case "inbox":
      return answer.inbox.length === 0 ? texts.nothingQueued : texts.queued(answer.inbox.length);
    case "document":
      return answer.text;
    case "hits":
      return answer.hits.length === 0
        ? texts.noHits(answer.words)
        : texts.hits(answer.hits.length, answer.words);
    case "refused":
      return answer.sentence;
  }
}

function memoryReply(answer: Extract<CommandAnswer, { kind: "memory" }>): string {
  const { facts, total, turns, failing, words } = answer;
  const more = total - facts.length;
  const lines = [
    ...facts.map((fact) => `- ${describeFact(fact)}`),
    ...(more > 0 ? [texts.moreFacts(more)] : []),
    ...(total === 0 && words !== "" ? [texts.noFacts] : []),
  ];
  if (turns === 0) return lines.length === 0 ? texts.remembered : lines.join("\n");
  const waiting = texts.pending(turns);
  return [...lines, failing === null ? waiting : `${waiting} ${failing.message}`].join("\n");
}

function helpLine(command: CommandSpec): string {
  return `${commandUsage(command)} — ${command.help}`;
}

function titleOf({ title }: SessionView): string {
  return title ?? texts.untitled;
}
