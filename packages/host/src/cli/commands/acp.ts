import { realpathSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import type { ReadableStream as NodeReadableStream } from "node:stream/web";
import { DEFAULT_MAX_MESSAGE_BYTES, ndJsonStream } from "@agentclientprotocol/sdk";
import { editorSetups } from "@holdfast/client";
import { createEditorAgent } from "../acp/agent.ts";
import { boundedLines } from "../acp/bounded-lines.ts";
import {
  type Arguments,
  type Command,
  exit,
  hasFlag,
  type Terminal,
  textFlag,
} from "../command.ts";
import { connectOrStartHost } from "../connection/connect.ts";

export const acp: Command = {
  usage: ["acp"],
  about: [
    "Connects an editor that speaks the Agent Client Protocol (ACP) on standard input and output. The editor starts this",
    "command itself. It speaks to the host that serves this home, and starts one that stays if there is none. Runs belong to",
    "the host: closing the editor does not end them, and opening the session again shows everything.",
  ].join("\n"),
  flags: {
    setup: { type: "boolean", about: "print what to put into the settings of Zed, JetBrains …" },
    editor: {
      type: "string",
      value: "name",
      about: "its name for rights, lane acp:NAME (what it calls itself)",
    },
    key: {
      type: "string",
      value: "key",
      about: "an API key in place of the token (see: holdfast keys)",
    },
  },
  examples: [
    ["holdfast acp --setup", "what to put into your editor's settings"],
    ["holdfast workspaces allow ~/projects/tides", "let sessions work there without being asked"],
    ["holdfast rights give lane:acp:zed readers", "limit what one editor may do"],
    ["holdfast acp --url https://holdfast.example.org --key hfk_…", "a host on another machine"],
  ],
  settings: "reach",
  async run(given, terminal) {
    if (hasFlag(given, "setup")) return printSetup(terminal);
    // Standard output is the protocol's: a library's log line would break it.
    for (const name of ["log", "info", "debug"] as const) console[name] = console.error;
    const key = textFlag(given, "key");
    const flags = key === undefined ? given.flags : { ...given.flags, token: key };
    return serveEditor({ ...given, flags }, terminal, textFlag(given, "editor"));
  },
};

/** Ends when the editor closes its side. Runs go on. */
async function serveEditor(
  given: Arguments,
  terminal: Terminal,
  name: string | undefined,
): Promise<number> {
  const output = terminal.output as unknown as Writable;
  const input = Readable.toWeb(terminal.input) as NodeReadableStream<Uint8Array>;
  const refuse = (message: object): void => void output.write(`${JSON.stringify(message)}\n`);
  // One byte of room, so that the SDK never meets a line that is too long for it.
  const lines = boundedLines(DEFAULT_MAX_MESSAGE_BYTES - 1, refuse);
  const stream = ndJsonStream(
    Writable.toWeb(output) as WritableStream<Uint8Array>,
    (input as unknown as ReadableStream<Uint8Array>).pipeThrough(lines),
  );
  const connection = createEditorAgent({
    connect: () => connectOrStartHost(given, terminal),
    name,
  }).connect(stream);
  await connection.closed;
  // Streams from the host are still open, and nobody is there to show them to.
  process.exit(exit.done);
}

function printSetup(terminal: Terminal): number {
  // Whole paths: an editor that was not started from a shell has another PATH.
  const script = realpathSync(process.argv[1] ?? "");
  for (const { editor, place, text } of editorSetups(process.execPath, [script])) {
    terminal.print(`${editor} (${place}):`);
    terminal.print(`${text}\n`);
  }
  return exit.done;
}
