import { type Client, type SessionState, shortId, describeRetry } from "@holdfast/client";
import {
  type MessageId,
  type RunId,
  type RunState,
  type Seq,
  type SessionId,
  terminalStates,
} from "@holdfast/protocol";
import type { Terminal } from "../command.ts";
import { onInterrupts } from "../process-signals.ts";
import type { HostWait } from "../connection/patience.ts";
import { cleanJson } from "../screen/text.ts";
import { createScreen } from "../screen/screen.ts";
import { createPaint } from "../screen/paint.ts";
import { describeCall } from "../transcript/describe.ts";
import { describeRunEnd, exitCodeOf, runExitCodes } from "../transcript/ends.ts";
import { TranscriptDiffer } from "../transcript/present.ts";
import { watchForStall } from "../connection/silence.ts";
import { createTranscriptWriter, type TranscriptWriter } from "../transcript/voice.ts";

export interface AcceptedRun {
  readonly sessionId: SessionId;
  readonly messageId: MessageId;
  readonly runId: RunId;
  readonly seq: Seq;
}

export interface FollowDeps {
  readonly client: Client;
  readonly hostWait: HostWait;
  readonly terminal: Terminal;
  readonly accepted: AcceptedRun;
  readonly style: "text" | "json";
}

interface RunEnd {
  readonly state: RunState;
  readonly cause: string | null;
}

/** Shows a run until it ends, over as many hosts as that takes, and answers the exit code. */
export async function followRun(following: FollowDeps): Promise<number> {
  const { client, terminal, accepted, hostWait: patience } = following;
  const left = new AbortController();
  const ears = onInterrupts(process, {
    first: () => void client.cancelRun({ params: { id: accepted.runId } }),
    second: () => left.abort(),
  });
  const signal = AbortSignal.any([left.signal, patience.expired]);
  try {
    const show = following.style === "json" ? followEvents : followText;
    const end = await show(following, signal);
    if (end !== null) return exitCodeOf(end.state);
    if (left.signal.aborted) return runExitCodes.cancelled;
    terminal.printError(
      `The host does not come back. The message is kept: holdfast chat --session ${shortId(accepted.sessionId)} shows what became of it.`,
    );
    return runExitCodes.unreachable;
  } finally {
    ears.stop();
  }
}

async function followText(following: FollowDeps, signal: AbortSignal): Promise<RunEnd | null> {
  const { client, hostWait: patience, terminal, accepted } = following;
  const { output, environment } = terminal;
  const voice = createTranscriptWriter({
    terminal,
    paint: createPaint(output, environment),
    screen: output.isTTY === true ? createScreen(output) : null,
  });
  const presenter = new TranscriptDiffer();
  let waitsFor: string | null = null;
  const silence = watchForStall({
    client,
    isWaiting: () => true,
    onReasons: (reasons) => voice.status(reasons),
  });
  try {
    const options = { signal, onConnection: connectionListener(patience, voice) };
    for await (const item of client.open(accepted.sessionId, options)) {
      silence.reset();
      if (item.kind === "ended") return { state: "failed", cause: item.error.code };
      if (item.kind === "status") voice.status(item.status.text ?? "");
      if (item.kind !== "state") continue;
      const own = onlyRun(item.state, accepted.runId);
      voice.show(presenter.diff(own).filter(({ kind }) => kind !== "said"));
      const again = own.run && describeRetry(own.run);
      if (again !== waitsFor) voice.status(again ?? "");
      waitsFor = again;
      const end = await endOf(client, item.state, accepted.runId);
      if (end !== null) return finish(end, own, { voice, session: accepted.sessionId });
    }
    return null;
  } finally {
    silence.stop();
    voice.close();
  }
}

function connectionListener(patience: HostWait, voice: TranscriptWriter) {
  return (state: "live" | "reconnecting" | "offline"): void => {
    patience.onConnection(state);
    voice.status(state === "live" ? "" : "The host does not answer; waiting for it …");
  };
}

function finish(
  end: RunEnd,
  { live }: SessionState,
  { voice, session }: { readonly voice: TranscriptWriter; readonly session: SessionId },
): RunEnd {
  // A chat without a session named begins a new one, where nothing waits.
  const there = `holdfast chat --session ${shortId(session)}`;
  if (end.state === "waiting") {
    for (const { name, input } of live?.approvals ?? [])
      voice.note(`It waits for your word about this call:\n${describeCall(name, input)}`);
    voice.note(`Answer it with ${there}, on the page, or at POST /api/approvals/<id>.`);
  }
  if (end.state === "paused") voice.note(`It is paused: /resume in ${there} lets it go on.`);
  return end;
}

/** What others do in the same session is not part of the answer. */
function onlyRun(state: SessionState, runId: RunId): SessionState {
  return {
    ...state,
    entries: state.entries.filter((entry) => entry.runId === runId),
    live: state.live?.runId === runId ? state.live : null,
    run: state.run?.id === runId ? state.run : null,
  };
}

function isEnd(state: RunState): boolean {
  return terminalStates.has(state) || state === "waiting" || state === "paused";
}

/** The run is the one that is shown, or it waits in the inbox, or it has ended while nobody looked. */
async function endOf(client: Client, state: SessionState, id: RunId): Promise<RunEnd | null> {
  const { run, inbox } = state;
  if (run?.id === id) return isEnd(run.state) ? run : null;
  if (inbox.some((item) => item.runId === id)) return null;
  const read = await client.readRun({ params: { id } });
  return read.ok && isEnd(read.value.run.state) ? read.value.run : null;
}

/** Every event from the acceptance on, each once, and a first and a last line around them. */
async function followEvents(following: FollowDeps, signal: AbortSignal): Promise<RunEnd | null> {
  const { client, terminal, accepted } = following;
  const write = (line: unknown): void => void terminal.output.write(`${cleanJson(line)}\n`);
  write({ type: "accepted", ...accepted });
  const silence = watchForStall({
    client,
    isWaiting: () => true,
    onReasons: (text) => write({ type: "status", code: text === "" ? "ready" : "not_ready", text }),
  });
  try {
    return await writeEvents(following, signal, { write, heard: () => silence.reset() });
  } finally {
    silence.stop();
  }
}

async function writeEvents(
  { client, hostWait: patience, accepted }: FollowDeps,
  signal: AbortSignal,
  { write, heard }: { readonly write: (line: unknown) => void; readonly heard: () => void },
): Promise<RunEnd | null> {
  const { sessionId: id, runId } = accepted;
  let after = (accepted.seq - 1) as Seq;
  while (!signal.aborted) {
    for await (const item of client.follow(id, after, {
      signal,
      onConnection: patience.onConnection,
    })) {
      heard();
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

async function readEnd(client: Client, id: RunId): Promise<RunEnd | null> {
  const read = await client.readRun({ params: { id } });
  return read.ok && isEnd(read.value.run.state) ? read.value.run : null;
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
