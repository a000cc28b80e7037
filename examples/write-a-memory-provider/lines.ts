import { createHash } from "node:crypto";
import { appendFile, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { MemoryHandle } from "@holdfast/engine";

/** The engine stores this name with each turn that the provider has to commit. */
export const name = "lines";
/** Distinguishes two providers with the same name. */
export const configuration = "one-file-for-each-owner";

interface Line {
  readonly key: string;
  readonly said: readonly string[];
}

/** Stores messages in one file per owner. A line is a segment and its key, so a repeated segment is recognised. */
export function open({ home }: { readonly home: string }): Pick<MemoryHandle, "commit" | "recall"> {
  const folder = join(home, "memory", "lines");
  const fileOf = (owner: string): string =>
    join(folder, `${createHash("sha256").update(owner).digest("hex")}.jsonl`);

  async function linesOf(owner: string): Promise<readonly Line[]> {
    const text = await readFile(fileOf(owner), "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return "";
      throw error;
    });
    return text.split("\n").flatMap(parseLine);
  }

  return {
    async commit({ owner, key, turns }) {
      try {
        if ((await linesOf(owner)).some((line) => line.key === key)) return { status: "committed" };
        const said = turns.flatMap(({ messages }) => messages.map(({ text }) => text));
        await mkdir(folder, { recursive: true });
        // The leading newline keeps this line apart from one that a crash cut short.
        await appendFile(fileOf(owner), `\n${JSON.stringify({ key, said })}\n`, { flush: true });
        return { status: "committed" };
      } catch (error) {
        return { status: "failed", code: "lines_not_written", message: String(error) };
      }
    },

    async recall({ owner, text }) {
      const words = text
        .toLowerCase()
        .split(/\W+/)
        .filter((word) => word.length > 3);
      const said = (await linesOf(owner)).flatMap((line) => line.said).toReversed();
      const matches = said.filter((message) =>
        words.some((word) => message.toLowerCase().includes(word)),
      );
      return matches.slice(0, 5).map((message) => ({ text: message }));
    },
  };
}

/** Skips a line that a crash cut short: the engine commits its segment again. */
function parseLine(line: string): readonly Line[] {
  try {
    return [JSON.parse(line) as Line];
  } catch {
    return [];
  }
}
