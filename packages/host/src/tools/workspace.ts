import { mkdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";

import type { Store, ToolCall } from "@holdfast/engine";

/** Where a session's tools work: the folder that the session names, or one in the home for all that name none. */
export function workspaces(
  home: string,
  { reads }: Pick<Store, "reads">,
): (call: ToolCall) => Promise<string> {
  const common = join(resolve(home), "workspace");
  return async ({ owner, session }) => {
    const named = (await reads.session(owner, session))?.workspace ?? null;
    if (named === null) {
      await mkdir(common, { recursive: true, mode: 0o700 });
      return common;
    }
    const folder = resolve(common, named);
    const found = await stat(folder).catch(() => null);
    if (found?.isDirectory() !== true) throw new Error(`The workspace ${named} is not a folder.`);
    return folder;
  };
}
