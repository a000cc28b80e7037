import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { planMounts, secretFiles } from "./visible-folders.ts";

const base = { rootLinks: [], mounts: [], holdfastHome: "/home/me/.holdfast", personHome: null };

test("[safety] a folder in the host's home that a profile asks to read stays hidden, and one to change is shown", () => {
  const mounts = planMounts(base, {
    readable: ["/home/me/.holdfast/secrets", "/home/me", "/data"],
    writable: ["/home/me/.holdfast/workspaces/one"],
    network: "none",
  });
  expect(mounts).toEqual([
    { kind: "read", path: "/data" },
    { kind: "read", path: "/home/me" },
    { kind: "hidden", path: "/home/me/.holdfast", what: "folder" },
    { kind: "write", path: "/home/me/.holdfast/workspaces/one" },
  ]);
});

test("[safety] files and folders that not everybody may read are found, however deep they are", async () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-visible-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const inside = (...names: string[]) => join(folder, ...names);
  mkdirSync(inside("open", "deeper"), { recursive: true });
  mkdirSync(inside("open", "closed"));
  for (const name of ["open/everybody", "open/deeper/key", "open/closed/unseen"])
    writeFileSync(inside(name), "");
  chmodSync(inside("open", "everybody"), 0o644);
  chmodSync(inside("open", "deeper", "key"), 0o600);
  for (const name of ["open", "open/deeper"]) chmodSync(inside(name), 0o755);
  chmodSync(inside("open", "closed"), 0o700);
  expect(new Set(await secretFiles(folder))).toEqual(
    new Set([
      { kind: "hidden", path: inside("open", "deeper", "key"), what: "file" },
      { kind: "hidden", path: inside("open", "closed"), what: "folder" },
    ]),
  );
});
