import { globSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

import { codeOf, groups, testsOf } from "./groups.ts";

const cwd = fileURLToPath(new URL("../..", import.meta.url));

test.each(Object.entries(groups))("every path of the group %s has files", (_, group) => {
  for (const glob of [...codeOf(group), ...testsOf(group)])
    expect({ glob, files: globSync(glob, { cwd }).length }).not.toEqual({ glob, files: 0 });
});
