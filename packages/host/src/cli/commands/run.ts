import { randomUUID } from "node:crypto";
import { type Client, shortId, findSessions, type Result, describeError } from "@holdfast/client";
import { type Seq, type SessionId, laneKey } from "@holdfast/protocol";
import {
  type Terminal,
  type Arguments,
  type Command,
  exit,
  hasFlag,
  textFlag,
  isPiped,
  readAll,
} from "../command.ts";
import { invalidModeText, modeFlag, modeOfFlag } from "../mode-flag.ts";
import { chooseFolder, workspaceFlags } from "../workspace-flag.ts";
import { choosePersonaAndProject, personaAndProjectFlags } from "../new-session-flags.ts";
import { newSessionBody, type NewSessionSettings } from "../new-session.ts";
import { onInterrupts } from "../process-signals.ts";
import { type HostWait, watchForStall, createHostWait } from "../connection/wait-for-host.ts";
import { cleanJson } from "../screen/text.ts";
import { describeRunEnd, exitCodeOf, runExitCodes } from "../transcript/describe.ts";
import {
  type AcceptedRun,
  type FollowDeps,
  followText,
  readEnd,
  type RunEnd,
} from "../run/follow-text.ts";
import { runStrings } from "../strings/run.ts";
import { connectHost } from "../connection/connect.ts";

const defaultWaitSeconds = 60;

export const run: Command = {
  usage: ['run "<prompt>"', 'run "<prompt>" < file', "run --session <id> …"],
  about: runStrings.about,
  flags: {
    session: { type: "string", value: "id or title", about: runStrings.flags.session },
    mode: modeFlag,
    ...personaAndProjectFlags,
    ...workspaceFlags,
    json: { type: "boolean", about: runStrings.flags.json },
    wait: {
      type: "string",
      value: "seconds",
      about: runStrings.flags.wait(defaultWaitSeconds),
    },
  },
  examples: [
    ['holdfast run "What is in this folder?"', runStrings.examples.once],
    ['git diff | holdfast run "Review this."', runStrings.examples.pipe],
    ['holdfast run --session garden "And in winter?"', runStrings.examples.session],
    ['holdfast run --json "Hello" | tail -1', runStrings.examples.json],
    ['holdfast run --mode plan "Tidy up the docs"', runStrings.examples.plan],
    ['holdfast run --model openai/gpt-5 "Hello"', runStrings.examples.model],
  ],
  settings: "reach",
  async run(given, terminal) {
    const invalidMode = invalidModeText(given);
    if (invalidMode !== null) {
      terminal.printError(invalidMode);
      return exit.misuse;
    }
    const text = await promptFrom(given, terminal);
    const waitSeconds = Number(textFlag(given, "wait") ?? defaultWaitSeconds);
    if (text === "" || !(waitSeconds >= 0)) {
      terminal.printError(text === "" ? runStrings.noPrompt : runStrings.invalidWait);
      return exit.misuse;
    }
    const connection = await connectHost(given, terminal, { localMode: "works" });
    if (!connection.ok) {
      terminal.printError(connection.failure.message);
      return exit.failed;
    }
    const { client, close } = connection.value;
    const hostWait = createHostWait(waitSeconds * 1000);
    try {
      const makeRequest = hostWait.retryUntilAnswered;
      const chosen = await choosePersonaAndProject(given, client, makeRequest);
      if (!chosen.ok) {
        terminal.printError(chosen.message);
        return hostWait.expired.aborted ? runExitCodes.unreachable : chosen.exitCode;
      }
      // A project's folder is that of its sessions, unless the flags name one.
      const isPlaced = textFlag(given, "session") !== undefined || chosen.hasFolder;
      const session = isPlaced ? "existing" : "new";
      const folder = await chooseFolder(given, terminal, connection.value, session, makeRequest);
      if (!folder.ok) {
        terminal.printError(folder.message);
        return hostWait.expired.aborted ? runExitCodes.unreachable : folder.exitCode;
      }
      const { workspace, worktree, note } = folder;
      const accepted = await ask(given, terminal, {
        client,
        hostWait,
        text,
        workspace,
        worktree,
        settings: chosen.settings,
      });
      if (typeof accepted === "number") return accepted;
      // A refusal stands alone: without a session there is no folder to tell of.
      if (note !== null) terminal.printError(note);
      const style = hasFlag(given, "json") ? "json" : "text";
      return await followRun({ client, hostWait, terminal, accepted, style });
    } finally {
      hostWait.stop();
      await close();
    }
  },
};

async function promptFrom({ words }: Arguments, { input }: Terminal): Promise<string> {
  const typed = words.join(" ");
  const piped = typed === "" || isPiped(input) ? await readAll(input) : "";
  return [typed, piped.trimEnd()].filter((part) => part.trim() !== "").join("\n\n");
}

interface AskDeps {
  readonly client: Client;
  readonly hostWait: HostWait;
  readonly text: string;
  readonly workspace: string | null | undefined;
  readonly worktree: NewSessionSettings["worktree"];
  readonly settings: Pick<NewSessionSettings, "persona" | "project">;
}

/** Idempotent across retries: the session has an idempotency key, the message a client id. */
async function ask(
  given: Arguments,
  terminal: Terminal,
  { client, hostWait, text, workspace, worktree, settings }: AskDeps,
): Promise<AcceptedRun | number> {
  const key = randomUUID();
  const fail = (result: Result<unknown> & { ok: false }): number => {
    terminal.printError(describeError(result.error));
    return hostWait.expired.aborted ? runExitCodes.unreachable : runExitCodes.failed;
  };
  const sessionName = textFlag(given, "session");
  const session =
    sessionName === undefined
      ? await hostWait.retryUntilAnswered(() =>
          createSession(client, `run-${key}`, {
            ...settings,
            model: textFlag(given, "model"),
            mode: modeOfFlag(given),
            workspace: workspace ?? undefined,
            worktree,
          }),
        )
      : await hostWait.retryUntilAnswered(() => findSession(client, sessionName));
  if (!session.ok) return fail(session);
  if (session.value === undefined) {
    terminal.printError(runStrings.noSession(sessionName ?? ""));
    return exit.failed;
  }
  const id = session.value;
  const mode = sessionName === undefined ? undefined : modeOfFlag(given);
  const isMoved = sessionName !== undefined && workspace !== undefined;
  const changes = {
    ...(sessionName !== undefined && settings),
    ...(mode !== undefined && { mode }),
    ...(isMoved && { workspace }),
  };
  if (Object.keys(changes).length > 0) {
    const changed = await client.changeSession({ params: { id }, body: changes });
    if (!changed.ok) return fail(changed);
  }
  const body = { clientId: `run-${key}`, text, lane: laneKey.parse(`cli:${id}`) };
  const sent = await hostWait.retryUntilAnswered(() =>
    client.sendMessage({ params: { id }, body }),
  );
  return sent.ok ? { sessionId: id, ...sent.value } : fail(sent);
}

async function createSession(
  client: Client,
  key: string,
  settings: NewSessionSettings,
): Promise<Result<SessionId>> {
  const body = newSessionBody(settings);
  const created = await client.createSession({ headers: { "idempotency-key": key }, body });
  return created.ok ? { ok: true, value: created.value.session.id } : created;
}

async function findSession(
  client: Client,
  sessionName: string,
): Promise<Result<SessionId | undefined>> {
  const found = await findSessions(client, sessionName);
  if (!found.ok) return found;
  return { ok: true, value: found.sessions.length === 1 ? found.sessions[0]?.id : undefined };
}

/** Shows a run until it ends, across as many hosts as that takes, and resolves to the exit code. */
async function followRun(deps: FollowDeps): Promise<number> {
  const { client, terminal, accepted, hostWait } = deps;
  const leaving = new AbortController();
  const interrupts = onInterrupts(process, {
    first: () => void client.cancelRun({ params: { id: accepted.runId } }),
    second: () => leaving.abort(),
  });
  const signal = AbortSignal.any([leaving.signal, hostWait.expired]);
  try {
    const follow = deps.style === "json" ? followEvents : followText;
    const end = await follow(deps, signal);
    if (end !== null) return exitCodeOf(end.state);
    if (leaving.signal.aborted) return runExitCodes.cancelled;
    terminal.printError(runStrings.hostGone(shortId(accepted.sessionId)));
    return runExitCodes.unreachable;
  } finally {
    interrupts.stop();
  }
}

/** Writes every event from acceptance on, each once, between a first and a last line. */
async function followEvents(deps: FollowDeps, signal: AbortSignal): Promise<RunEnd | null> {
  const { client, terminal, accepted } = deps;
  const write = (line: unknown): void => void terminal.output.write(`${cleanJson(line)}\n`);
  write({ type: "accepted", ...accepted });
  const stallWatch = watchForStall({
    client,
    isWaiting: () => true,
    onReasons: (text) => write({ type: "status", code: text === "" ? "ready" : "not_ready", text }),
  });
  try {
    return await writeEvents(deps, signal, { write, onItem: () => stallWatch.reset() });
  } finally {
    stallWatch.stop();
  }
}

async function writeEvents(
  { client, hostWait, accepted }: FollowDeps,
  signal: AbortSignal,
  { write, onItem }: { readonly write: (line: unknown) => void; readonly onItem: () => void },
): Promise<RunEnd | null> {
  const { sessionId: id, runId } = accepted;
  let after = (accepted.seq - 1) as Seq;
  while (!signal.aborted) {
    for await (const item of client.follow(id, after, {
      signal,
      onConnection: hostWait.onConnection,
    })) {
      onItem();
      if (item.kind === "status") write({ type: "status", ...item.status });
      if (item.kind === "ended")
        return writeEnd(write, { state: "failed", cause: item.error.code });
      if (item.kind === "resync") {
        write({ type: "resync", ...item.resync });
        after = item.resync.seq;
        const end = await readEnd(client, runId);
        if (end !== null) return writeEnd(write, end);
      }
      if (item.kind !== "event") continue;
      const { event } = item;
      after = event.seq;
      write(event);
      if (event.type !== "run.state" || event.runId !== runId) continue;
      const end = await readEnd(client, runId);
      if (end !== null) return writeEnd(write, end);
    }
  }
  return null;
}

function writeEnd(write: (line: unknown) => void, { state, cause }: RunEnd): RunEnd {
  write({
    type: "ended",
    state,
    cause,
    exitCode: exitCodeOf(state),
    words: describeRunEnd({ state, cause }),
  });
  return { state, cause };
}
