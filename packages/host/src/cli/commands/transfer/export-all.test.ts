import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore } from "@holdfast/store/sqlite";
import { aFile, anInput, aUserMessage } from "@holdfast/testing/fixtures/factories";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { strFromU8, unzipSync } from "fflate";
import { expect, onTestFinished, test } from "vitest";

import { runHere, serveHere } from "../../../../test/support/command-rig.ts";
import { owner } from "../../../../test/support/full-export/fill-store.ts";
import { setUnfinishedCopy } from "../../../ops/full-export/unfinished-copy.ts";
import { announceHost } from "../../connection/running-hosts.ts";

function makeHome(): string {
  const home = mkdtempSync(join(tmpdir(), "holdfast-export-all-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

async function fill(home: string): Promise<void> {
  const store = await openSqliteStore({ file: join(home, "holdfast.db") });
  const chat = await openTestSession(
    store,
    { title: '<script>alert("t")</script> & ../../x' },
    owner,
  );
  const page = new TextEncoder().encode("<script>alert(1)</script>");
  const stored = await store.putBlob(owner, page, "text/html");
  if (stored.status !== "stored") throw new Error("not stored");
  const image = new Uint8Array([0x89, 0x50, 0x4e, 0x47]);
  const picture = await store.putBlob(owner, image, "image/png");
  if (picture.status !== "stored") throw new Error("not stored");
  const message = aUserMessage('<img src="https://evil.example/x.png" onerror="alert(2)">');
  const files = [
    { type: "file", blobId: stored.id, name: "../../evil.html", mediaType: "text/html", size: 25 },
    { type: "image", blobId: picture.id, mediaType: "image/png", name: "photo (1).png" },
  ];
  const parts = [...(message.data["parts"] as object[]), ...files];
  await chat.commit([{ ...message, data: { ...message.data, parts } as typeof message.data }]);
  await chat.commit([anInput({ attachments: [aFile(stored.id)] })]);
  const trashed = await openTestSession(store, { title: "Old" }, owner);
  await store.commit({
    owner,
    session: trashed.session,
    events: [{ id: anInput().id, type: "session.trashed", v: 1, data: {} }],
  });
  await store.close();
}

/** A command that takes more than two seconds says how far it is. */
const withoutProgress = (told: string): string => told.replaceAll(/^.* …\n/gmu, "");

test("everything is exported while a host serves, checked without one, and imported into an empty home", async () => {
  const [home, other] = [makeHome(), makeHome()];
  await fill(home);
  const { settings, close } = await serveHere(home);
  const file = join(home, "all.jsonl");
  const exported = await runHere(["export", "--all", file], settings);
  expect([exported.code, withoutProgress(exported.told)]).toEqual([0, ""]);
  expect(await runHere(["export", "--all", file], settings)).toMatchObject({ code: 1 });
  expect(await runHere(["export", "--all"], settings)).toMatchObject({ code: 2 });
  expect(await runHere(["export", "--all", file, "--format", "audit"], settings)).toMatchObject({
    code: 2,
  });
  expect(await runHere(["import", file], settings)).toMatchObject({ code: 1 });
  const withdraw = announceHost(home, `${settings.HOLDFAST_URL}/`);
  const running = await runHere(["import", file], { HOLDFAST_HOME: home });
  expect([running.code, running.told]).toEqual([1, expect.stringContaining("Stop it first")]);
  withdraw();
  await close();
  expect(readdirSync(home).filter((name) => name.includes("partial"))).toEqual([]);

  const whole = await runHere(["verify", file], {});
  // The host may have begun to answer what waited.
  expect(whole.said).toMatch(
    /^2 sessions, \d+ events and \d attachments, all unchanged\.\nSigned by/,
  );
  const damaged = join(home, "damaged.jsonl");
  writeFileSync(damaged, readFileSync(file, "utf8").replace("evil.example", "good.example"));
  const found = await runHere(["verify", damaged], {});
  expect([found.code, found.said]).toEqual([1, expect.stringMatching(/^event_changed {2}Line \d/)]);
  const refused = await runHere(["import", damaged], { HOLDFAST_HOME: other });
  expect([refused.code, refused.told]).toEqual([1, expect.stringContaining("(event_changed)")]);

  const imported = await runHere(["import", file], { HOLDFAST_HOME: other });
  expect(withoutProgress(imported.told)).toBe("");
  expect(imported.said).toMatch(/2 sessions imported with \d+ events and \d attachments/);
  const listed = await runHere(["sessions", "list"], {
    HOLDFAST_HOME: other,
    HOLDFAST_MODEL: "rehearsal",
  });
  expect(listed.said).toContain("alert(");
});

test("no host works on a store whose import has not finished", async () => {
  const home = makeHome();
  const store = await openSqliteStore({ file: join(home, "holdfast.db") });
  await setUnfinishedCopy(store, { sha256: "0".repeat(64), deleting: null });
  await store.close();
  const settings = { HOLDFAST_HOME: home, HOLDFAST_MODEL: "rehearsal" };
  const refused = await runHere(["sessions", "list"], settings);
  expect([refused.code, refused.told]).toEqual([
    1,
    expect.stringContaining("holdfast import <file>"),
  ]);
});

test("[safety] pages for offline use have no script, no address outside and no name that leads out", async () => {
  const home = makeHome();
  await fill(home);
  const settings = { HOLDFAST_HOME: home, HOLDFAST_MODEL: "rehearsal" };
  for (const format of ["html", "markdown"]) {
    const file = join(home, `${format}.zip`);
    const exported = await runHere(["export", "--all", file, "--format", format], settings);
    expect([exported.code, withoutProgress(exported.told)]).toEqual([0, ""]);
    const entries = unzipSync(readFileSync(file));
    const names = Object.keys(entries);
    for (const name of names) expect(name).toMatch(/^(index\.\w+|(sessions|files)\/[^<>"\\]+)$/);
    expect(names.some((name) => name.split("/").includes(".."))).toBe(false);
    // A browser would run it.
    expect(names.filter((name) => name.startsWith("files/") && name.endsWith(".html"))).toEqual([]);
    expect(names.filter((name) => name.endsWith("evil.html.bin"))).toHaveLength(1);
    if (format !== "html") continue;
    const pages = names.filter((name) => name.endsWith(".html"));
    expect(pages).toHaveLength(3);
    for (const name of pages) {
      const text = strFromU8(entries[name] ?? new Uint8Array());
      expect(text).not.toMatch(/<script|<img src="http|<[^>]+ on\w+=/i);
      expect(text).toContain("default-src 'none'".replaceAll("'", "&#39;"));
      for (const [, href = ""] of text.matchAll(/href="([^"]*)"/g)) {
        expect(href).not.toMatch(/^[a-z]+:|^\/\//i);
        const place = new URL(href, `file:///${name}`).pathname.slice(1);
        expect(names).toContain(decodeURIComponent(place));
      }
    }
    const index = strFromU8(entries["index.html"] ?? new Uint8Array());
    expect(index).toContain("In the trash");
  }
  expect(existsSync(join(home, "evil.html"))).toBe(false);
});
