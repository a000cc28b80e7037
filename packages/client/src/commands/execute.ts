import {
  compactSession,
  exportSession,
  listOrSwitchAlternatives,
  redo,
  retryMessage,
  sendMessage,
  showInbox,
  cancelRun,
  stopWaiting,
  undo,
} from "./conversation.ts";
import {
  listOrStopProcesses,
  readOrChangeMemory,
  readOrSetMode,
  readOrSetPersona,
  readOrSetProject,
  readOrSetModel,
  listSchedules,
  readOrSetTitle,
  readUsage,
} from "./settings.ts";
import { readOrSetLimit } from "./spending.ts";
import { listAgents, listOrUseSkill } from "./skills.ts";
import {
  newSession,
  branch,
  listSessions,
  resumeSession,
  searchSessions,
  sessionStatus,
} from "./sessions.ts";
import {
  type CommandAnswer,
  refuseCommand,
  type CommandContext,
  type SessionCommandContext,
} from "./command.ts";
import { nearestName, type Invocation } from "./parse.ts";
import { type CommandName, findCommand, commandNames, commands } from "@holdfast/protocol";

export type { CommandContext } from "./command.ts";

/** Carries out a parsed command through the client alone, and resolves to its result. */
export async function executeCommand(
  context: CommandContext,
  { name, argument }: Invocation,
): Promise<CommandAnswer> {
  if (isSessionless(name)) return sessionlessCommands[name](context, argument);
  if (context.sessionId === null)
    return refuseCommand(
      "no_session",
      "There is no session here yet. Send a message first, or open one with /resume.",
    );
  return sessionCommands[name]({ ...context, sessionId: context.sessionId }, argument);
}

type SessionlessCommand =
  | "help"
  | "new"
  | "sessions"
  | "resume"
  | "memory"
  | "usage"
  | "limit"
  | "schedule"
  | "search";

const sessionlessCommands: Record<
  SessionlessCommand,
  (context: CommandContext, argument: string) => Promise<CommandAnswer>
> = {
  help: async (_, argument) => describeCommands(argument),
  new: newSession,
  sessions: listSessions,
  resume: resumeSession,
  memory: readOrChangeMemory,
  usage: readUsage,
  limit: readOrSetLimit,
  schedule: listSchedules,
  search: searchSessions,
};

const sessionCommands: Record<
  Exclude<CommandName, SessionlessCommand>,
  (context: SessionCommandContext, argument: string) => Promise<CommandAnswer>
> = {
  undo,
  redo,
  retry: (context) => retryMessage(context, ""),
  edit: retryMessage,
  alternatives: listOrSwitchAlternatives,
  branch,
  title: readOrSetTitle,
  compact: compactSession,
  model: readOrSetModel,
  mode: readOrSetMode,
  persona: readOrSetPersona,
  skill: listOrUseSkill,
  agents: listAgents,
  project: readOrSetProject,
  processes: listOrStopProcesses,
  status: sessionStatus,
  stop: cancelRun,
  giveup: stopWaiting,
  queue: (context, text) =>
    text === "" ? showInbox(context) : sendMessage(context, text, "queue"),
  steer: (context, text) => sendMessage(context, text, "steer"),
  export: exportSession,
};

function isSessionless(name: CommandName): name is SessionlessCommand {
  return Object.hasOwn(sessionlessCommands, name);
}

function describeCommands(argument: string): CommandAnswer {
  if (argument === "") return { kind: "help", commands };
  const name = argument.replace(/^\//, "");
  const command = findCommand(name);
  if (command !== undefined) return { kind: "help", commands: [command] };
  const nearest = nearestName(name, commandNames) ?? "help";
  return refuseCommand(
    "unknown_command",
    `There is no command /${name}. Did you mean /${nearest}?`,
  );
}
