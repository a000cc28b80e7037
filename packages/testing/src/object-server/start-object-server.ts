import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type OnCleanup, startProcess } from "../process/start-process.ts";
import type { Fault, ServedRequest } from "./faults.ts";

/** Objects in a real process on loopback that verifies signatures. It ends with the test. */
export async function startObjectServer(onCleanup: OnCleanup = onTestFinished) {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-objects-"));
  onCleanup(() => rmSync(folder, { recursive: true, force: true }));
  const keys = { keyId: "HOLDFASTTEST", secretKey: "a-secret/key+of=tests", region: "test-1" };
  const bucket = "things";
  const child = startProcess(
    [
      "packages/testing/src/object-server/server-main.ts",
      folder,
      keys.keyId,
      keys.secretKey,
      keys.region,
      bucket,
    ],
    { onCleanup },
  );
  const line = await child.line((text) => text.startsWith("["));
  const [served, control] = JSON.parse(line) as { port: number }[];
  const controlUrl = `http://127.0.0.1:${control?.port}/`;
  const url = `http://127.0.0.1:${served?.port}`;
  const ask = async (faults?: readonly Fault[]) => {
    const body = faults === undefined ? {} : { method: "POST", body: JSON.stringify(faults) };
    const answer = await fetch(controlUrl, body);
    return (await answer.json()) as { requests: ServedRequest[]; held: number };
  };
  const root = join(folder, bucket);
  return {
    settings: { url, bucket, ...keys, prefix: "holdfast", addressing: "path" as const },
    /** As a host takes them. */
    environment: {
      HOLDFAST_OBJECT_STORAGE_URL: url,
      HOLDFAST_OBJECT_STORAGE_REGION: keys.region,
      HOLDFAST_OBJECT_STORAGE_BUCKET: bucket,
      HOLDFAST_OBJECT_STORAGE_KEY_ID: keys.keyId,
      HOLDFAST_OBJECT_STORAGE_SECRET_KEY: keys.secretKey,
    },
    /** Replaces all faults, and releases what is held. */
    setFaults: ask,
    requests: async () => (await ask()).requests,
    /** How many requests are held now. */
    held: async () => (await ask()).held,
    /** The keys that exist below this prefix. */
    keys: (prefix = "") =>
      readdirSync(root, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
        .filter((key) => key.startsWith(prefix))
        .toSorted(),
    fileOf: (key: string) => join(root, key),
    pid: child.pid,
    kill: () => child.kill(),
  };
}

export type ObjectServer = Awaited<ReturnType<typeof startObjectServer>>;
