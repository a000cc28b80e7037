import { readers, sourceRequest } from "./readers.ts";
import type { ImportedPart, ImportItem } from "./source.ts";

export type SourceMessage =
  | { readonly kind: "items"; readonly items: readonly ImportItem[] }
  | { readonly kind: "end" }
  | { readonly kind: "failed"; readonly message: string };

/** How much is read ahead of the host, by the lengths of the texts. */
const batchLength = 512 * 1024;
const batchItems = 100;

function lengthOf(item: ImportItem): number {
  if (item.kind !== "session") return 1_000;
  return item.entries.reduce(
    (sum, entry) =>
      sum +
      (entry.type === "message"
        ? entry.parts.reduce((length, part) => length + sizeOfPart(part), 500)
        : 500),
    1_000,
  );
}

function sizeOfPart(part: ImportedPart): number {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text.length;
    case "tool_call":
      return part.input.length;
    case "tool_result":
      return part.output.length;
    case "file":
    case "image":
      return part.bytes.length;
    case "missing":
      return 0;
  }
}

/** Another program's files are read in a process of its own: whatever they hold, the host goes on. */
async function main(): Promise<void> {
  const [text = "", maxBytes = ""] = process.argv.slice(2);
  watchMemory(Number(maxBytes));
  const request = sourceRequest.parse(JSON.parse(text));
  let batch: ImportItem[] = [];
  let length = 0;
  const flush = async (): Promise<void> => {
    const items = batch;
    batch = [];
    length = 0;
    if (items.length > 0) await send({ kind: "items", items });
  };
  for await (const item of readers[request.source](request)) {
    batch.push(item);
    length += lengthOf(item);
    if (length > batchLength || batch.length >= batchItems) await flush();
  }
  await flush();
  await send({ kind: "end" });
}

const watchMs = 100;

/** Messages may name one large file a thousand times: before the machine has no memory left, this process ends. */
function watchMemory(maxBytes: number): void {
  const watch = setInterval(() => {
    if (process.memoryUsage.rss() < maxBytes) return;
    clearInterval(watch);
    fail("A conversation and its files need more memory than an import may have.");
  }, watchMs);
  watch.unref();
}

function fail(message: string): void {
  process.send?.({ kind: "failed", message } satisfies SourceMessage, () => process.exit(1));
}

/** Resolves when the host has asked for more. */
function send(message: SourceMessage): Promise<void> {
  return new Promise((resolve, reject) => {
    process.once("message", () => resolve());
    process.send?.(message, (error: Error | null) => {
      if (error !== null) reject(error);
    });
  });
}

// The host is gone: nobody needs what is read.
process.once("disconnect", () => process.exit(0));
main()
  .then(() => process.exit(0))
  .catch((error: unknown) => {
    fail(error instanceof Error ? error.message : String(error));
  });
