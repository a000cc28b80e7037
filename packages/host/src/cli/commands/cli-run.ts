import { randomUUID } from "node:crypto";
import { type Client, findSessions, type Result, describeError } from "@holdfast/client";
import { laneKey, type SessionId } from "@holdfast/protocol";
import {
  type Arguments,
  type Command,
  exit,
  hasFlag,
  type Terminal,
  textFlag,
} from "../command.ts";
import { createHostWait, type HostWait } from "../connection/patience.ts";
import { connectHost } from "../connection/connect.ts";
import { isPiped, readAll } from "../read-input.ts";
import { type AcceptedRun, followRun } from "./run.ts";
import { runExitCodes } from "../transcript/ends.ts";

const defaultWaitSeconds = 60;

export const run: Command = {
  usage: ['run "<prompt>"', 'run "<prompt>" < file', "run --session <id> …"],
  about: [
    "Asks once, prints the answer as it is written, and ends as the run did: 0 completed, 1 failed, 2 misused,",
    "3 cancelled, 4 broken off, 5 stopped by a limit, 6 waits for a person's word, 7 no host could be reached.",
    "What was accepted is durable: a host that dies meanwhile is waited for, and the same answer goes on when it is back.",
    "Ctrl-C once stops the answer; twice leaves.",
  ].join("\n"),
  flags: {
    session: { type: "string", value: "id or title", about: "go on in this session" },
    json: { type: "boolean", about: "print every event as a line of JSON" },
    wait: {
      type: "string",
      value: "seconds",
      about: `how long to wait for a host that is away (${defaultWaitSeconds})`,
    },
  },
  examples: [
    ['holdfast run "What is the capital of Peru?"', "one answer, in a session of its own"],
    ['git diff | holdfast run "Review this."', "what is piped in stands below the prompt"],
    [
      'holdfast run --session garden "And in winter?"',
      "goes on in a session, by words of its title",
    ],
    [
      'holdfast run --json "Hello" | tail -1',
      'the last line: {"type":"ended","state":"completed",…}',
    ],
    ['holdfast run --model openai/gpt-5 "Hello"', "with another model, for a new session"],
  ],
  settings: "reach",
  async run(given, terminal) {
    const text = await promptFrom(given, terminal);
    const wait = Number(textFlag(given, "wait") ?? defaultWaitSeconds);
    if (text === "" || !(wait >= 0)) {
      terminal.printError(
        text === ""
          ? 'There is nothing to ask: give a prompt, like holdfast run "Hello", or pipe one in.'
          : "--wait takes a number of seconds.",
      );
      return exit.misuse;
    }
    const reached = await connectHost(given, terminal, { localMode: "works" });
    if (!reached.ok) {
      terminal.printError(reached.failure.message);
      return exit.failed;
    }
    const { client, close } = reached.value;
    const patience = createHostWait(wait * 1000);
    try {
      const accepted = await ask(given, terminal, { client, hostWait: patience, text });
      if (typeof accepted === "number") return accepted;
      const style = hasFlag(given, "json") ? "json" : "text";
      return await followRun({ client, hostWait: patience, terminal, accepted, style });
    } finally {
      patience.stop();
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
}

/** Accepted once, however often it has to be sent: the session under a key, the message under its client id. */
async function ask(
  given: Arguments,
  terminal: Terminal,
  { client, hostWait: patience, text }: AskDeps,
): Promise<AcceptedRun | number> {
  const key = randomUUID();
  const fail = (result: Result<unknown> & { ok: false }): number => {
    terminal.printError(describeError(result.error));
    return patience.expired.aborted ? runExitCodes.unreachable : runExitCodes.failed;
  };
  const named = textFlag(given, "session");
  const session =
    named === undefined
      ? await patience.retryUntilAnswered(() =>
          createSession(client, `run-${key}`, textFlag(given, "model")),
        )
      : await patience.retryUntilAnswered(() => findSession(client, named));
  if (!session.ok) return fail(session);
  if (session.value === undefined) {
    terminal.printError(`No session, or more than one, fits "${named}": holdfast sessions list`);
    return exit.failed;
  }
  const id = session.value;
  const body = { clientId: `run-${key}`, text, lane: laneKey.parse(`cli:${id}`) };
  const sent = await patience.retryUntilAnswered(() =>
    client.sendMessage({ params: { id }, body }),
  );
  return sent.ok ? { sessionId: id, ...sent.value } : fail(sent);
}

async function createSession(
  client: Client,
  key: string,
  model: string | undefined,
): Promise<Result<SessionId>> {
  const body = model === undefined ? {} : { model };
  const begun = await client.createSession({ headers: { "idempotency-key": key }, body });
  return begun.ok ? { ok: true, value: begun.value.session.id } : begun;
}

async function findSession(client: Client, named: string): Promise<Result<SessionId | undefined>> {
  const found = await findSessions(client, named);
  if (!found.ok) return found;
  return { ok: true, value: found.sessions.length === 1 ? found.sessions[0]?.id : undefined };
}
