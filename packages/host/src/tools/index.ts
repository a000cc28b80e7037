import type { Store, Tool } from "@holdfast/engine";

import { createEgress } from "../egress/index.ts";
import { keepNote } from "../memory/index.ts";
import { createApplyPatch } from "./apply-patch.ts";
import { createAskUser } from "./ask-user.ts";
import { createEditFile } from "./edit-file.ts";
import { allowedEnvironment } from "./environment.ts";
import { createFetchUrl } from "./fetch-url.ts";
import { createGlob, createListFiles } from "./find-files.ts";
import { createGrep } from "./grep.ts";
import { createReadFile } from "./read-file.ts";
import { createRemember } from "./remember.ts";
import { createSearchSessions } from "./search-sessions.ts";
import { createSendFile } from "./send-file.ts";
import { type Background, createTerminal } from "./terminal.ts";
import { createTodo } from "./todo.ts";
import { openWorkspaces, type Workspaces } from "./workspace.ts";
import { createWriteFile } from "./write-file.ts";

export { openWorkspaces, type Workspaces };

export { allowedEnvironment } from "./environment.ts";
export { defineTool, failed, ok } from "./define-tool.ts";

export interface ToolParts {
  readonly home: string;
  readonly store: Store;
  readonly workspaces: Workspaces;
  /** `host` or `host:port` beyond the public internet that may be fetched. */
  readonly egressAllow: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Without it every command ends with its call. */
  readonly background?: Background;
}

/** The tools that every session has, by name, always in one order: they are part of how a context begins. */
export function openTools(parts: ToolParts): ReadonlyMap<string, Tool> {
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
    createRemember((owner, about, line) => keepNote(home, owner, about, line)),
    createSearchSessions(store.search),
    createAskUser(),
    createSendFile({ workspaces, store }),
  ];
  return new Map(tools.map((tool) => [tool.name, tool]));
}
