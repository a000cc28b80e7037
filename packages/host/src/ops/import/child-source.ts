import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

import { launchReader } from "../../sandbox/launch.ts";
import type { ImportItem, ImportSource } from "./source.ts";
import type { SourceRequest } from "./readers.ts";
import type { SourceMessage } from "./source-process.ts";

/** The process of a source ended before it was done. */
export class SourceFailed extends Error {
  constructor(message: string) {
    super(message);
    this.name = "SourceFailed";
  }
}

const script = fileURLToPath(new URL("./source-process.ts", import.meta.url));
/** Enough for the largest conversation; a file that needs more ends the process, not the host. */
const maxHeapMegabytes = 1_024;
/** With the files of a conversation, which are no part of the heap. */
const maxMemoryBytes = 3 * 1024 * 1024 * 1024;

/** A source that is read in a process of its own, a batch at a time. */
export function childSource(
  request: SourceRequest,
  signal: AbortSignal,
  maxBytes: number = maxMemoryBytes,
): ImportSource {
  return { name: request.source, items: () => readItems(request, signal, maxBytes) };
}

async function* readItems(
  request: SourceRequest,
  signal: AbortSignal,
  maxBytes: number,
): AsyncGenerator<ImportItem> {
  const child = launchReader({
    argv: [
      process.execPath,
      `--max-old-space-size=${maxHeapMegabytes}`,
      "--disable-warning=ExperimentalWarning",
      script,
      JSON.stringify(request),
      String(maxBytes),
    ],
    folder: dirname(request.path),
    // Nothing of the host's environment matters to it, least of all its keys.
    environment: {},
  });
  const stop = (): void => void child.kill("SIGKILL");
  signal.addEventListener("abort", stop, { once: true });
  const messages = messagesOf(child);
  try {
    for await (const message of messages) {
      if (message.kind === "failed") throw new SourceFailed(message.message);
      if (message.kind === "end") return;
      yield* message.items;
      if (child.connected) child.send("more");
    }
    if (signal.aborted) throw new SourceFailed("It was stopped.");
    throw new SourceFailed("The process that reads the files ended early.");
  } finally {
    signal.removeEventListener("abort", stop);
    child.kill("SIGKILL");
  }
}

/** Until the process ends. One message at a time: the process waits for an answer. */
async function* messagesOf(child: ReturnType<typeof launchReader>): AsyncGenerator<SourceMessage> {
  const waiting: SourceMessage[] = [];
  let hasEnded = false;
  let said = "";
  let wake = (): void => {};
  child.on("message", (message: SourceMessage) => {
    waiting.push(message);
    wake();
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-maxSaid);
  });
  const end = (): void => {
    hasEnded = true;
    wake();
  };
  child.once("close", end);
  child.once("error", end);
  for (;;) {
    const next = waiting.shift();
    if (next !== undefined) {
      yield next;
      continue;
    }
    if (hasEnded) {
      if (/heap out of memory/i.test(said))
        throw new SourceFailed("A file needs more memory than an import may have.");
      return;
    }
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
}

const maxSaid = 4_000;
