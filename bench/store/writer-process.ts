// A process that appends on request, until its parent disconnects.
import { join } from "node:path";

import { aUserMessage } from "@holdfast/testing/fixtures/factories";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";

import { openBareSqlite } from "./bare-sqlite.ts";
import { openStore } from "./bench-database.ts";
import { stretch } from "./w1-concurrent-writers.ts";
import type { WriterTask } from "./writer-client.ts";

// Written by the parent process.
const { kind, address, folder, text } = JSON.parse(process.argv[2] ?? "{}") as WriterTask;

async function openWriter(): Promise<{ append(): unknown; close(): Promise<void> }> {
  if (kind === "bare") {
    const driver = openBareSqlite(join(folder, "bare.db"), "found");
    const data = JSON.stringify(aUserMessage(text).data);
    return { append: () => driver.insert(data), close: async () => driver[Symbol.asyncDispose]() };
  }
  const store = await openStore(address);
  const session = await openTestSession(store);
  return { append: () => session.commit([aUserMessage(text)]), close: () => store.close() };
}

const writer = await openWriter();
process.on("message", (ms) => {
  void stretch(Number(ms), [writer], (one) => one.append()).then((ran) =>
    process.send?.([ran.ms, ...ran.times]),
  );
});
process.once("disconnect", () => void writer.close());
process.send?.("ready");
