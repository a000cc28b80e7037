import { expect, test } from "vitest";

import { folderPage } from "./folders.ts";

test("the sessions of a folder are listed page by page, then those of the folder that the host keeps for it", () => {
  const own = folderPage("/work/tides", null, true);
  expect(own.query).toEqual({ workspace: "/work/tides" });
  const second = folderPage("/work/tides", own.next("more"), true);
  expect(second.query).toEqual({ workspace: "/work/tides", cursor: "more" });
  const shared = folderPage("/work/tides", second.next(null), true);
  const { workspace } = shared.query;
  expect(workspace).toMatch(/^tides-[0-9a-f]{8}$/);
  expect(shared.query).toEqual({ workspace });
  const last = folderPage("/work/tides", shared.next("more"), true);
  expect(last.query).toEqual({ workspace, cursor: "more" });
  expect(last.next(null)).toBeNull();
  expect(folderPage("/work/tides", null, false).next(null)).toBeNull();
});
