import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { systemClock } from "@holdfast/engine";
import { ids } from "@holdfast/protocol";
import { createLiveness } from "@holdfast/store/identity";
import { expect, onTestFinished, test } from "vitest";

import { deterministicIds } from "../../util/deterministic-ids.ts";
import { openHomeId } from "../../hosts/home-id.ts";
import { openHosts } from "../../hosts/hosts.ts";
import { openKeyring } from "../../ops/secrets/secrets-key.ts";
import { keySettings } from "../../../test/support/providers/models.ts";
import {
  openProcesses,
  openProcessHost,
  untilReported,
} from "../../../test/support/process-rig.ts";
import { fileNames, readStartRecord, readEnd } from "./process-folder.ts";

async function open(options?: Parameters<typeof openProcesses>[0]) {
  const host = await openProcesses(options);
  onTestFinished(() => host.close());
  return host;
}

test("a process lost together with its minder is reported as lost, and its group is killed", async () => {
  const host = await open();
  const id = await host.start("sleep 600");
  const started = await readStartRecord(host.desk.folderOf(id));
  process.kill(started!.minder.pid, "SIGKILL");
  const liveness = createLiveness();
  while (liveness.isDead(started!.minder) !== "dead") await systemClock.sleep(20);
  expect(await untilReported(host, id)).toMatchObject({ end: { kind: "lost" } });
  expect(JSON.stringify(await host.said())).toContain("was lost with its host");
  while (liveness.isDead(started!.leader) !== "dead") await systemClock.sleep(20);
});

test("a process that was recorded and never started is reported as lost", async () => {
  const host = await open();
  const id = await host.start("exit 0");
  // The minder writes there until then.
  while ((await readEnd(host.desk.folderOf(id))) === null) await systemClock.sleep(20);
  const [found] = await host.desk.store.list(host.owner);
  rmSync(host.desk.folderOf(id), { recursive: true });
  const by = { ...found!.process.by, processStart: "1" };
  await host.desk.store.change({ ...found!, process: { ...found!.process, by } });
  expect(await untilReported(host, id)).toMatchObject({ end: { kind: "lost" } });
});

const longAgo = new Date(Date.now() - 60_000);

test("a process that did not start long after being recorded is reported as lost, although its host lives", async () => {
  const host = await open();
  const id = await host.start("exit 0");
  const folder = host.desk.folderOf(id);
  while ((await readEnd(folder)) === null) await systemClock.sleep(20);
  for (const name of [fileNames.end, fileNames.started]) rmSync(join(folder, name));
  utimesSync(join(folder, fileNames.spec), longAgo, longAgo);
  expect(await untilReported(host, id)).toMatchObject({ end: { kind: "lost" } });
});

test("a minder that starts too late runs nothing", () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-minder-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const argv = ["touch", join(folder, "touched")];
  const spec = join(folder, fileNames.spec);
  writeFileSync(spec, JSON.stringify({ argv, folder, environment: {}, timeLimitMs: 1_000 }));
  utimesSync(spec, longAgo, longAgo);
  const minder = fileURLToPath(new URL("minder.ts", import.meta.url));
  execFileSync(process.execPath, [minder, folder]);
  expect(readdirSync(folder)).toEqual([fileNames.spec]);
});

test("when its files cannot be written, nothing is started and its slot is free again", async () => {
  const host = await open({ perSession: 1 });
  await host.desk.homeId();
  const files = join(host.home, "processes");
  renameSync(files, `${files}.away`);
  writeFileSync(files, "in the way");
  const failed = await host.run("exit 0");
  expect(failed).toMatchObject({ outcome: "failed" });
  expect(failed.output).toContain("could not be started (");
  rmSync(files);
  renameSync(`${files}.away`, files);
  const id = await host.start("exit 0");
  expect(await untilReported(host, id)).toMatchObject({ told: "accepted" });
  expect(await host.said()).toHaveLength(1);
});

test("a process of another home is reported as lost once that host has been silent, and not before", async () => {
  const host = await open();
  const id = await host.start("sleep 600");
  const home = mkdtempSync(join(tmpdir(), "holdfast-other-home-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const openHome = (folder: string) =>
    openHosts({
      store: host.store,
      id: openHomeId(folder),
      keyring: openKeyring(keySettings(folder)),
      runs: true,
      process: "runner",
      leaseMs: 1_000,
      report: (bug) => {
        throw bug;
      },
    });
  const lost = openHome(host.home);
  const hosts = openHome(home);
  const other = openProcessHost(home, host.store, { owner: host.owner, hosts, silentMs: 0 });
  const stateSeen = async () => {
    await other.watch.checkAll();
    return (await hosts.find(await lost.id()))?.isUp;
  };
  lost.start(null);
  while ((await stateSeen()) !== true) await systemClock.sleep(20);
  expect((await host.desk.store.find(host.owner, null, id))?.process.end).toBeNull();
  lost.stop();
  expect(await untilReported(other, id)).toMatchObject({ end: { kind: "lost" } });
  expect(JSON.stringify(await host.said())).toContain("was lost with its host");
});

test("files of a process that the register has forgotten are removed, and those of others stay", async () => {
  const host = await open();
  const id = await host.start("exit 0");
  await untilReported(host, id);
  const forgotten = host.desk.folderOf(ids.make("process"));
  mkdirSync(forgotten);
  host.watch.start();
  while (existsSync(forgotten)) await systemClock.sleep(20);
  await host.watch.stop();
  expect(existsSync(host.desk.folderOf(id))).toBe(true);
});

test("a process whose start cannot be recorded is a failed call, and does not keep running", async () => {
  const host = await open();
  const { owner, session } = host;
  const call = { owner, session, runId: ids.make("run"), callId: ids.make("call"), input: null };
  // As on a full disk.
  const folder = host.desk.folderOf(deterministicIds(`process ${call.callId}`).make("process"));
  mkdirSync(join(folder, `${fileNames.started}.new`), { recursive: true });
  const mark = `600.${process.pid}`;
  const command = {
    argv: ["sleep", mark] as [string, string],
    folder: host.home,
    environment: { PATH: process.env["PATH"] ?? "" },
    timeLimitMs: 600_000,
    shown: "sleep",
  };
  expect(await host.desk.start(call, command)).toMatchObject({ status: "refused" });
  expect(execFileSync("ps", ["-eo", "args"], { encoding: "utf8" })).not.toContain(`sleep ${mark}`);
});
