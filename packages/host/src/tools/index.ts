import type { Store, Tool } from "@holdfast/engine";

import { allowedEnvironment } from "./environment.ts";
import { createTerminal } from "./terminal.ts";
import { workspaces } from "./workspace.ts";

export { allowedEnvironment } from "./environment.ts";
export { createExcerpt, type Excerpt } from "./excerpt.ts";

export interface ToolParts {
  readonly home: string;
  readonly store: Store;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** The tools that every session has, by name. */
export function openTools({ home, store, environment }: ToolParts): ReadonlyMap<string, Tool> {
  const terminal = createTerminal({
    folderFor: workspaces(home, store),
    environment: allowedEnvironment(environment),
  });
  return new Map([terminal].map((tool) => [tool.name, tool]));
}
