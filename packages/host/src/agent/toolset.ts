import type { Store, Tool } from "@holdfast/engine";

import { createEgress } from "../util/egress/egress.ts";
import { saveNote } from "./memory/memory-notes.ts";
import { createApplyPatch } from "./tools/apply-patch.ts";
import { createAskUser } from "./tools/ask-user.ts";
import { createEditFile } from "./tools/tools-edit-file.ts";
import { allowedEnvironment } from "../util/environment.ts";
import { createFetchUrl } from "./tools/fetch-url.ts";
import { createGlob, createListFiles } from "./tools/find-files.ts";
import { createGrep } from "./tools/tools-grep.ts";
import { createReadFile } from "./tools/read-file.ts";
import { createRemember } from "./tools/remember.ts";
import { createSearchSessions } from "./tools/search-sessions.ts";
import { createSendFile } from "./tools/send-file.ts";
import { type BackgroundRunner, createTerminal } from "./tools/terminal.ts";
import { createTodo } from "./tools/todo.ts";
import { openWorkspaces, type Workspaces } from "./workspace/workspaces.ts";
import { createWriteFile } from "./tools/write-file.ts";

export { openWorkspaces, type Workspaces };

export { allowedEnvironment } from "../util/environment.ts";
export { defineTool, failed, ok } from "./tools/define-tool.ts";

export interface BuiltInToolDeps {
  readonly home: string;
  readonly store: Store;
  readonly workspaces: Workspaces;
  /** `host` or `host:port` beyond the public internet that may be fetched. */
  readonly egressAllow: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Without it every command ends with its call. */
  readonly background?: BackgroundRunner;
}

/** The tools that every session has, by name, always in one order: they are part of how a context begins. */
export function createBuiltInTools(parts: BuiltInToolDeps): ReadonlyMap<string, Tool> {
  const { home, store, workspaces, egressAllow } = parts;
  const files = { workspaces };
  const tools = [
    createTerminal({
      workspaces,
      environment: allowedEnvironment(parts.environment),
      ...(parts.background && { background: parts.background }),
    }),
    createReadFile(files),
    createWriteFile(files),
    createEditFile(files),
    createApplyPatch(files),
    createListFiles(files),
    createGlob(files),
    createGrep(files),
    createFetchUrl(createEgress({ allow: egressAllow })),
    createTodo(store.reads),
    createRemember((owner, about, line) => saveNote(home, owner, about, line)),
    createSearchSessions(store.search),
    createAskUser(),
    createSendFile({ workspaces, store }),
  ];
  return new Map(tools.map((tool) => [tool.name, tool]));
}
