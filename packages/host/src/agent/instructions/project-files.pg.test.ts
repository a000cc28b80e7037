import { keptBlobPrefix, keptByNobody } from "@holdfast/engine";
import { maxProjectFileBytes, maxProjectFiles, ownerId } from "@holdfast/protocol";
import { databases } from "@holdfast/testing/databases/databases";
import { anOwner } from "@holdfast/testing/fixtures/factories";
import { describe, expect, onTestFinished, test } from "vitest";

import { openProjectFiles } from "./project-files.ts";

describe.each(databases)("files of projects on $name", (factory) => {
  async function open() {
    const database = await factory.create();
    onTestFinished(() => database.drop());
    const store = await database.open();
    onTestFinished(() => store.close());
    const owner = ownerId.parse("owner");
    const files = openProjectFiles(store);
    async function upload(content: string | Uint8Array) {
      const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
      const put = await store.putBlob(owner, bytes, "text/plain");
      if (put.status === "failed") throw new Error(put.message);
      return put.id;
    }
    async function add(project: string, name: string, content: string | Uint8Array) {
      const blobId = await upload(content);
      return files.add(owner, project, { name, blobId, replace: "nothing", now: 1 });
    }
    async function keepers(content: string): Promise<unknown> {
      const row = await store.register.read(owner, `${keptBlobPrefix}${await upload(content)}`);
      return row && JSON.parse(row.value);
    }
    return { owner, store, files, upload, add, keepers };
  }

  test("[P13] bytes are kept while a project has them, also under another name and in another project", async () => {
    const { owner, files, add, keepers } = await open();
    await add("a", "one.md", "High water");
    await add("a", "two.md", "High water");
    await add("b", "three.md", "High water");
    const names = async (project: string) =>
      (await files.list(owner, project)).map(({ name }) => name);
    expect(await names("a")).toEqual(["one.md", "two.md"]);
    const [one] = await files.list(owner, "a");
    expect(await files.remove(owner, "a", one?.id ?? "")).toBe("removed");
    expect(await files.remove(owner, "a", one?.id ?? "")).toBe("not_found");
    expect(await keepers("High water")).toEqual(["a", "b"]);
    await files.removeAll(owner, "a");
    expect(await names("a")).toEqual([]);
    expect(await keepers("High water")).toEqual(["b"]);
    await files.removeAll(owner, "b");
    expect(await keepers("High water")).toEqual([]);
    expect(await files.list(anOwner(), "b")).toEqual([]);
  });

  test("a file of the same name is replaced only when asked, and a repeated request changes nothing", async () => {
    const { owner, files, upload, add, keepers } = await open();
    const first = await add("a", "../Tides\u202e.md", "Old");
    expect(first).toMatchObject({ name: "Tides_.md", size: 3 });
    expect(await add("a", "Tides_.md", "Old")).toEqual(first);
    expect(await add("a", "tides_.MD", "New")).toBe("exists");
    expect(await keepers("New")).toEqual([]);
    const replacement = { name: "tides_.md", blobId: await upload("New"), now: 2 };
    await files.add(owner, "a", { ...replacement, replace: "same name" });
    expect(await files.list(owner, "a")).toMatchObject([{ name: "tides_.md", size: 3 }]);
    expect([await keepers("Old"), await keepers("New")]).toEqual([[], ["a"]]);
  });

  test("what is no text, too large, or one too many is refused, and nothing is kept of it", async () => {
    const { owner, files, add, keepers } = await open();
    expect(await add("a", "photo.png", new Uint8Array([0x89, 0x50, 0, 0xff]))).toBe("not_text");
    expect(await add("a", "large.txt", "x".repeat(maxProjectFileBytes + 1))).toBe("too_large");
    const blobId = `blob_${"0".repeat(64)}` as Parameters<typeof files.add>[2]["blobId"];
    const missing = { name: "gone.txt", blobId, replace: "nothing", now: 1 } as const;
    expect(await files.add(owner, "a", missing)).toBe("no_blob");
    // The longest names, so that the list is as long as it can become.
    for (let n = 0; n < maxProjectFiles; n += 1)
      expect(await add("a", `${"x".repeat(200)}${n}`.slice(-100), `${n}`)).toMatchObject({
        size: n < 10 ? 1 : 2,
      });
    expect(await add("a", "more.txt", "One more")).toBe("too_many");
    expect(await keepers("One more")).toEqual([]);
    expect(await files.list(owner, "a")).toHaveLength(maxProjectFiles);
  });

  test("[P13] bytes that are added while they are removed stay kept", async () => {
    const { owner, store, add, keepers } = await open();
    const old = await add("a", "old.md", "Same bytes");
    if (typeof old === "string") throw new Error(old);
    let hasRaced = false;
    const { register } = store;
    const racing = openProjectFiles({
      reads: store.reads,
      putBlob: (...blob) => store.putBlob(...blob),
      register: {
        read: (...row) => register.read(...row),
        list: (...rows) => register.list(...rows),
        async put(change) {
          const isRelease = change.value === keptByNobody;
          if (isRelease && !hasRaced) {
            hasRaced = true;
            await add("a", "new.md", "Same bytes");
          }
          return register.put(change);
        },
      },
    });
    expect(await racing.remove(owner, "a", old.id)).toBe("removed");
    expect(hasRaced).toBe(true);
    expect(await racing.list(owner, "a")).toMatchObject([{ name: "new.md" }]);
    expect(await keepers("Same bytes")).toEqual(["a"]);
  });
});
