import { compact, exportSession, redo, retry, say, showInbox, stop, undo } from "./conversation.ts";
import { processes } from "./about-processes.ts";
import { beginSession, branch, listSessions, resume, search, status } from "./sessions.ts";
import { memory, model, schedule, title, usage } from "./settings.ts";
import { type CommandAnswer, refused } from "./answers.ts";
import { nearestName } from "./nearest.ts";
import type { Invocation } from "./parse.ts";
import type { CommandPlace, SessionPlace } from "./command.ts";
import { type CommandName, commandNamed, commandNames, commands } from "@holdfast/protocol";

export type { CommandPlace } from "./command.ts";

/** Does what was typed, through the client alone, and resolves to what became of it. */
export async function executeCommand(
  place: CommandPlace,
  { name, argument }: Invocation,
): Promise<CommandAnswer> {
  if (isFree(name)) return anywhere[name](place, argument);
  if (place.sessionId === null)
    return refused("no_session", "There is no session here yet: say something, or /resume one.");
  return inSession[name]({ ...place, sessionId: place.sessionId }, argument);
}

type Free = "help" | "new" | "sessions" | "resume" | "memory" | "usage" | "schedule" | "search";

const anywhere: Record<Free, (place: CommandPlace, argument: string) => Promise<CommandAnswer>> = {
  help: async (_, asked) => help(asked),
  new: beginSession,
  sessions: listSessions,
  resume,
  memory,
  usage,
  schedule,
  search,
};

const inSession: Record<
  Exclude<CommandName, Free>,
  (place: SessionPlace, argument: string) => Promise<CommandAnswer>
> = {
  undo,
  redo,
  retry: (place) => retry(place, ""),
  edit: retry,
  branch,
  title,
  compact,
  model,
  processes,
  status,
  stop,
  queue: (place, text) => (text === "" ? showInbox(place) : say(place, text, "queue")),
  steer: (place, text) => say(place, text, "steer"),
  export: exportSession,
};

function isFree(name: CommandName): name is Free {
  return Object.hasOwn(anywhere, name);
}

function help(asked: string): CommandAnswer {
  if (asked === "") return { kind: "help", commands };
  const name = asked.replace(/^\//, "");
  const command = commandNamed(name);
  if (command !== undefined) return { kind: "help", commands: [command] };
  const nearest = nearestName(name, commandNames) ?? "help";
  return refused("unknown_command", `There is no command /${name}. Did you mean /${nearest}?`);
}
