import { importKinds, type ImportSourceName, importSources } from "@holdfast/protocol";
import { z } from "zod";

import { readChatGptExport } from "./chatgpt/read-export.ts";
import { readClaudeExport } from "./claude/read-export.ts";
import { readClaudeCode } from "./claude-code/read-projects.ts";
import { readCodexSessions } from "./codex/read-sessions.ts";
import { readHermesHome } from "./hermes/read-home.ts";
import type { ImportItem } from "./source.ts";

/** What the process should read. */
export const sourceRequest = z.object({
  source: z.enum(importSources),
  path: z.string(),
  scratch: z.string(),
  only: z.array(z.enum(importKinds)),
  profile: z.string().optional(),
  secrets: z.enum(["taken", "left"]),
  now: z.number(),
});
export type SourceRequest = z.infer<typeof sourceRequest>;

export const readers: Readonly<
  Record<ImportSourceName, (request: SourceRequest) => AsyncIterable<ImportItem>>
> = {
  hermes: readHermesHome,
  chatgpt: readChatGptExport,
  claude: readClaudeExport,
  "claude-code": readClaudeCode,
  codex: readCodexSessions,
};
