import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ids, type Json } from "@holdfast/protocol";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, onTestFinished, test } from "vitest";

import { createBuiltInTools } from "../toolset.ts";
import { openWorkspaces } from "../workspace/workspaces.ts";
import { unconfined } from "../../../test/support/open-confinement.ts";

test("[safety] no search shows a file that may not be read, nor its name, however it is reached", async () => {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-unreadable-")));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const store = createReferenceStore();
  const { owner, session } = await openTestSession(store);
  const workspaces = openWorkspaces({ home, roots: [] }, store);
  const folder = await workspaces.folderFor({ owner, session });
  const unreadable = ["secrets/**", "**/*.pem"];
  const deps = {
    home,
    store,
    workspaces,
    egressAllow: [],
    environment: {},
    confinement: unconfined,
    unreadable,
  };
  const tools = createBuiltInTools(deps);
  const run = async (name: string, input: Json) => {
    const call = { owner, session, runId: ids.make("run"), callId: ids.make("call"), input };
    const context = { signal: new AbortController().signal, write: () => {} };
    return (await tools.get(name)?.run(call, context))?.output;
  };
  mkdirSync(join(folder, "secrets/deep"), { recursive: true });
  for (const path of ["secrets/deep/pin", "key.pem", "open"])
    writeFileSync(join(folder, path), "the pin is 4471");
  symlinkSync("secrets", join(folder, "link"));
  expect(await run("grep", { pattern: "pin" })).toBe("open:1: the pin is 4471");
  for (const path of ["secrets", "secrets/deep", "link", "link/deep"]) {
    expect(await run("grep", { pattern: "pin", path })).toBe("No line matches.");
    expect(await run("list_files", { path, depth: 5 })).toBe("The folder is empty.");
    expect(await run("glob", { pattern: "**", path })).toBe("No file matches.");
  }
  expect(await run("glob", { pattern: "**" })).toBe("link (link)\nopen");
  expect(await run("list_files", { depth: 5 })).toBe("link (link)\nopen");
});
