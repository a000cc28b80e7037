import { once } from "node:events";
import { createServer } from "node:http";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { openTestConfinement } from "../../../test/support/open-confinement.ts";
import { openProcesses, untilReported } from "../../../test/support/process-rig.ts";

async function openConfined(egressAllow: readonly string[] = []) {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-confined-")));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const confinement = openTestConfinement({ home, mode: "required", egressAllow });
  const rig = await openProcesses({ confinement });
  onTestFinished(rig.close);
  return rig;
}

test("[safety] a background command is confined, and leaves nothing behind", async () => {
  const rig = await openConfined();
  const mark = `left-${process.pid}`;
  const id = await rig.start(
    `cat ${rig.home}/processes/place; ls ${rig.home}; (setsid sh -c 'sleep 100; : ${mark}' &); echo done`,
  );
  const ended = await untilReported(rig, id);
  expect(ended.end).toEqual({ kind: "exited", code: 0 });
  const { output } = await rig.ask({ action: "read", id });
  expect(output).toContain("done");
  expect(output).toMatch(/No such file or directory/);
  expect(output).not.toContain(await rig.desk.homeId());
});

test("[safety] a background command reaches the host that it was granted, and that is recorded with its output", async () => {
  const server = createServer((_, response) => response.end("the answer")).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const rig = await openConfined([`127.0.0.1:${port}`]);
  const script = `require("http").get({ host: "127.0.0.1", port: 47128, path: "http://127.0.0.1:${port}/" }, (a) => a.pipe(process.stdout))`;
  const { output: started } = await rig.run([process.execPath, "-e", script], {
    hosts: ["127.0.0.1"],
  });
  const id = /prc_\w+/.exec(started)?.[0] ?? "";
  await untilReported(rig, id as Parameters<typeof untilReported>[1]);
  const { output, details, taint } = await rig.ask({ action: "read", id });
  expect(output).toContain("the answer");
  // A stranger may have written it.
  expect(taint).toEqual([{ kind: "web", name: "127.0.0.1" }]);
  expect(details?.reached).toEqual([{ host: "127.0.0.1", port, outcome: "reached", times: 1 }]);
});
