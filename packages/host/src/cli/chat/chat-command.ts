import { findSessions, liveRun, describeError, shortId } from "@holdfast/client";
import { type SessionId } from "@holdfast/protocol";
import {
  type Arguments,
  type Command,
  exit,
  hasFlag,
  type Terminal,
  textFlag,
} from "../command.ts";
import { choosePersonaAndProject, personaAndProjectFlags } from "../new-session-flags.ts";
import { invalidModeText, modeFlag, modeOfFlag } from "../mode-flag.ts";
import { chooseFolder, workspaceFlags } from "../workspace-flag.ts";
import { sessionRow } from "../transcript/session-row.ts";
import { type HostConnection, connectHost } from "../connection/connect.ts";
import { chatStrings } from "../strings/chat.ts";
import { columnsOf } from "../screen/screen.ts";
import { createPaint } from "../screen/paint.ts";
import { cleanLine } from "../screen/text.ts";
import { Chat, type ChatView } from "./chat.ts";

const { about: texts } = chatStrings;

export const chatCommand: Command = {
  usage: ["chat", "chat --session <id or title>"],
  about: texts.text,
  flags: {
    session: { type: "string", value: "id or title", about: texts.flags.session },
    mode: modeFlag,
    ...personaAndProjectFlags,
    ...workspaceFlags,
    continue: { type: "boolean", about: texts.flags.continue },
    plain: { type: "boolean", about: texts.flags.plain },
  },
  examples: [
    ["holdfast chat", texts.examples.new],
    ["holdfast chat --workspace ~/projects/tides", texts.examples.workspace],
    ["holdfast chat --project Tides --persona editor", texts.examples.project],
    ["holdfast chat --continue", texts.examples.continue],
    ["holdfast chat --session garden", texts.examples.session],
    ['printf "Hello\\n/usage\\n" | holdfast chat', texts.examples.pipe],
  ],
  settings: "reach",
  async run(given, terminal) {
    const invalidMode = invalidModeText(given);
    if (invalidMode !== null) {
      terminal.printError(invalidMode);
      return exit.misuse;
    }
    const reports: string[] = [];
    const connection = await connectHost(given, terminal, {
      localMode: "works",
      report: (bug) => reports.push(bug.message),
    });
    if (!connection.ok) {
      terminal.printError(connection.failure.message);
      return exit.failed;
    }
    try {
      return await runChat(given, terminal, connection.value);
    } finally {
      await connection.value.close();
      for (const report of reports) terminal.printError(report);
    }
  },
};

async function runChat(
  given: Arguments,
  terminal: Terminal,
  connection: HostConnection,
): Promise<number> {
  const sessionId = await chooseSession(given, terminal, connection);
  if (sessionId === "none") return exit.failed;
  const { output } = terminal;
  const chosen = await choosePersonaAndProject(given, connection.client);
  if (!chosen.ok) {
    terminal.printError(chosen.message);
    return chosen.exitCode;
  }
  // A project's folder is that of its sessions, unless the flags name one.
  const isPlaced = sessionId !== null || chosen.hasFolder;
  const folder = await chooseFolder(given, terminal, connection, isPlaced ? "existing" : "new");
  if (!folder.ok) {
    terminal.printError(folder.message);
    return folder.exitCode;
  }
  const { workspace, worktree, note } = folder;
  const view = await chooseView(given, terminal);
  const mode = modeOfFlag(given);
  const body = {
    ...chosen.settings,
    ...(mode !== undefined && { mode }),
    ...(workspace !== undefined && { workspace }),
  };
  if (sessionId !== null && Object.keys(body).length > 0) {
    const params = { id: sessionId };
    const changed = await connection.client.changeSession({ params, body });
    if (!changed.ok) {
      terminal.printError(describeError(changed.error));
      return exit.failed;
    }
  }
  const settings = {
    ...chosen.settings,
    model: textFlag(given, "model"),
    mode,
    workspace: workspace ?? undefined,
    worktree,
  };
  const chat = new Chat(connection, settings, view);
  const paint = createPaint(output, terminal.environment);
  if (output.isTTY === true) {
    const place = workspace == null ? note : chatStrings.greeting.folder(cleanLine(workspace));
    const rows = [greeting(connection), ...(place === null ? [] : [`— ${place}`])];
    chat.print(rows.map((row) => paint("dim", row)));
  } else if (note !== null) terminal.printError(note);
  if (sessionId !== null) chat.conversation.switchTo(sessionId);
  await chat.run();
  const { state } = chat;
  if (state !== undefined && output.isTTY === true) {
    const isLive = liveRun(state) !== null && connection.location === "here";
    if (isLive) terminal.print(chatStrings.leaving.unfinished);
    terminal.print(chatStrings.leaving.comeBack(shortId(state.session.id)));
  }
  return exit.done;
}

/** The view that the terminal supports and the person wants. */
async function chooseView(given: Arguments, terminal: Terminal): Promise<(chat: Chat) => ChatView> {
  const { input, output, environment } = terminal;
  if (input.isTTY !== true || output.isTTY !== true) {
    const { PipeView } = await import("./pipe-view.ts");
    return (chat) => new PipeView(chat, terminal);
  }
  if (environment["TERM"] === "dumb") {
    const { LineView } = await import("./line-view.ts");
    return (chat) => new LineView(chat, terminal);
  }
  const { ScreenView } = await import("./screen-view.ts");
  const look = hasFlag(given, "plain") ? "plain" : "cards";
  const model = textFlag(given, "model");
  return (chat) => new ScreenView(chat, terminal, { look, model });
}

function greeting({ location, address }: HostConnection): string {
  const { greeting: words } = chatStrings;
  return `— ${location === "here" ? words.here : words.at(address ?? words.theHost)}`;
}

async function chooseSession(
  given: Arguments,
  terminal: Terminal,
  { client }: HostConnection,
): Promise<SessionId | null | "none"> {
  const sessionName = textFlag(given, "session");
  if (sessionName === undefined && !hasFlag(given, "continue")) return null;
  const found =
    sessionName === undefined
      ? await client.listSessions({ query: { limit: 1 } })
      : await findSessions(client, sessionName);
  if (!found.ok) {
    terminal.printError(describeError(found.error));
    return "none";
  }
  const sessions = "sessions" in found ? found.sessions : found.value.sessions;
  const [session, ...others] = sessions;
  if (session === undefined && sessionName === undefined) return null;
  if (session !== undefined && others.length === 0) return session.id;
  const paint = createPaint(terminal.output, terminal.environment);
  terminal.printError(
    session === undefined
      ? chatStrings.sessions.noMatch(sessionName ?? "")
      : chatStrings.sessions.severalMatch(sessionName ?? ""),
  );
  const width = columnsOf(terminal.output, 100) - 1;
  for (const candidate of sessions.slice(0, 20))
    terminal.printError(sessionRow(candidate, { width, paint }));
  return "none";
}
