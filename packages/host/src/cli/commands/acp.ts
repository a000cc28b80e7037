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
import { acpStrings as texts } from "../strings/acp.ts";

export const acp: Command = {
  usage: ["acp"],
  about: texts.about,
  flags: {
    setup: { type: "boolean", about: texts.flags.setup },
    editor: {
      type: "string",
      value: "name",
      about: texts.flags.editor,
    },
    key: {
      type: "string",
      value: "key",
      about: texts.flags.key,
    },
  },
  examples: [
    ["holdfast acp --setup", texts.examples.setup],
    ["holdfast workspaces allow ~/projects/tides", texts.examples.allow],
    ["holdfast rights give lane:acp:zed readers", texts.examples.rights],
    ["holdfast acp --url https://holdfast.example.org --key hfk_…", texts.examples.remote],
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
    terminal.print(texts.setupHeading(editor, place));
    terminal.print(`${text}\n`);
  }
  return exit.done;
}
