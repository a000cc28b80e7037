import type { Tool } from "@holdfast/engine";
import { type OwnerId, ownerRights } from "@holdfast/protocol";
import { z } from "zod";

import { showControls } from "../../util/text/show-controls.ts";
import { defineTool, failed, ok } from "./define-tool.ts";

/** Saves a line for an owner's later sessions, unless it exists already. */
export type SaveNote = (
  owner: OwnerId,
  about: "person" | "rest",
  line: string,
) => Promise<"kept" | "busy">;

const input = z.strictObject({
  text: z.string().min(1).max(500).describe("One fact, in one sentence."),
  about: z.enum(["person", "rest"]).optional().describe("Whether it is about the person."),
});

/** A note becomes part of later sessions' prompts: it names its source, and a person approves it first. */
export function createRemember(saveNote: SaveNote): Tool {
  return defineTool({
    name: "remember",
    description: "Keeps a fact for later sessions with the same person.",
    input,
    replay: "safe",
    asks: "ask",
    async run({ text, about = "rest" }, { owner, session, rights = ownerRights }) {
      if (rights.memory !== "write")
        return failed(
          "Messages from this chat or program may not write to memory, so nothing was kept.",
        );
      const line = showControls(text.replace(/\s+/g, " ").trim());
      if (line === "") return failed("There is nothing in it.");
      const saved = await saveNote(owner, about, `${line} (noted in ${session})`);
      return saved === "kept"
        ? ok(`Kept: ${line}`)
        : failed("Another process is writing the notes. Try again.");
    },
  });
}
