import { link, open, rm } from "node:fs/promises";
import { resolve } from "node:path";
import { problem as problemSchema, problemMediaType } from "@holdfast/protocol";

import { systemCode } from "../../../util/outcome.ts";
import { type Arguments, exit, type Terminal, textFlag } from "../../command.ts";
import { withHost } from "../../connection/connect.ts";
import { cleanLine } from "../../screen/text.ts";
import { transferStrings } from "../../strings/data.ts";

const texts = transferStrings.export;
const formats: Readonly<Record<string, "jsonl" | "md" | "html">> = {
  jsonl: "jsonl",
  md: "md",
  markdown: "md",
  html: "html",
};
const progressMs = 2_000;

/** `holdfast export --all <file>`: a file of that name appears only once it is complete. */
export async function exportAll(given: Arguments, terminal: Terminal): Promise<number> {
  const format = formats[textFlag(given, "format") ?? "jsonl"];
  const named = given.words[0] ?? textFlag(given, "to");
  if (format === undefined || named === undefined || given.words.length > 1) {
    terminal.printError(format === undefined ? texts.badAllFormat : texts.fileMissing);
    return exit.misuse;
  }
  const file = resolve(named);
  return withHost(given, terminal, async ({ request }) => {
    const answer = await request(`/api/export?format=${format}`, { method: "GET" });
    if (!answer.ok || answer.body === null) {
      terminal.printError(cleanLine(await problemOf(answer)));
      return exit.failed;
    }
    try {
      const bytes = await writeWhole(file, answer.body, (written) =>
        terminal.printError(texts.progress(written)),
      );
      terminal.print(texts.allWritten(file, bytes));
      if (format === "jsonl") terminal.print(texts.checkHint(file));
      return exit.done;
    } catch (error) {
      const code = systemCode(error);
      if (code === "EEXIST") terminal.printError(texts.exists(file));
      else terminal.printError(code === undefined ? texts.cut : texts.notWritten(file, code));
      return exit.failed;
    }
  });
}

async function problemOf(answer: Response): Promise<string> {
  const isProblem = answer.headers.get("content-type")?.startsWith(problemMediaType) === true;
  const value: unknown = isProblem ? await answer.json() : null;
  const parsed = problemSchema.safeParse(value);
  return parsed.success ? (parsed.data.detail ?? parsed.data.title) : texts.cut;
}

async function writeWhole(
  file: string,
  body: ReadableStream<Uint8Array>,
  onProgress: (bytes: number) => void,
): Promise<number> {
  const partial = `${file}.${process.pid}.partial`;
  const handle = await open(partial, "wx", 0o600);
  try {
    let bytes = 0;
    let shownAt = Date.now();
    for await (const chunk of body) {
      await handle.writeFile(chunk);
      bytes += chunk.byteLength;
      if (Date.now() - shownAt < progressMs) continue;
      shownAt = Date.now();
      onProgress(bytes);
    }
    await handle.sync();
    // Fails if there is a file of that name by now.
    await link(partial, file);
    return bytes;
  } finally {
    await handle.close();
    await rm(partial, { force: true });
  }
}
