import type { Tool } from "@holdfast/engine";
import { ownerRights } from "@holdfast/protocol";
import { z } from "zod";

import type { FactStore } from "../memory/fact-store.ts";
import { showControls } from "../../util/text/show-controls.ts";
import { defineTool, failed, ok } from "./define-tool.ts";

const input = z.strictObject({
  text: z.string().min(1).max(500).describe("One fact, in one sentence."),
  about: z.enum(["person", "rest"]).optional().describe("Whether it is about the person."),
});

/** A note becomes part of later sessions' prompts, so a person approves it first. */
export function createRemember(facts: Pick<FactStore, "add">): Tool {
  return defineTool({
    name: "remember",
    description: "Keeps a fact for later sessions with the same person.",
    input,
    replay: "safe",
    asks: "ask",
    async run({ text, about }, { owner, session, rights = ownerRights }) {
      if (rights.memory !== "write")
        return failed(
          "Messages from this chat or program may not write to memory, so nothing was kept.",
        );
      const line = showControls(text.replace(/\s+/g, " ").trim());
      if (line === "") return failed("There is nothing in it.");
      const source = { kind: "tool", sessionId: session } as const;
      const at = Date.now();
      await facts.add(owner, [{ text: line, use: "always", source, at, ...(about && { about }) }]);
      return ok(`Kept: ${line}`);
    },
  });
}
