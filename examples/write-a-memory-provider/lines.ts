import { createHash } from "node:crypto";
import { appendFile, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { MemoryHandle } from "@holdfast/engine";

/** Stored with each turn that this provider has to remember. */
export const name = "lines";
/** Tells two providers of that name apart. */
export const configuration = "one-file-for-each-owner";

interface Line {
  readonly key: string;
  readonly said: readonly string[];
}

/** Every message goes to a file for its owner. A line is a segment with its key, so one that comes twice is found. */
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
        // It begins with a newline too: a line that a crash has cut short must not swallow this one.
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
      const fits = said.filter((each) => words.some((word) => each.toLowerCase().includes(word)));
      return fits.slice(0, 5).map((each) => ({ text: each }));
    },
  };
}

/** A line that a crash has cut short is not there: its segment comes again. */
function parseLine(line: string): readonly Line[] {
  try {
    return [JSON.parse(line) as Line];
  } catch {
    return [];
  }
}
