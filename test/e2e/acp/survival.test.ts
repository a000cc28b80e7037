import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { methods } from "@agentclientprotocol/sdk";
import { sleep } from "@holdfast/protocol";
import { expect, onTestFinished, test, vi } from "vitest";
import { countWords, makeFolder } from "../served-host.ts";
import { openEditor } from "./editor.ts";
import { hostReturns, bridgeDies } from "./survival-scenarios.ts";
import { makeProject } from "./project.ts";

test("[P6] killing the bridge in the middle ends nothing, and the next one shows everything once", async () => {
  const { run, shown, stored } = await bridgeDies();
  expect(run).toMatchObject({ state: "completed", attempt: 0 });
  expect(shown).toEqual(stored);
});

test("[P5] a prompt that is open while the host is killed is answered when the run ends on the next one", async () => {
  const { ends, shown, stored } = await hostReturns();
  expect(ends).toEqual([{ stopReason: "end_turn" }, { stopReason: "end_turn" }]);
  expect(shown).toBe(stored);
});

/** The hosts that serve a home. */
function hostsOf(home: string): number[] {
  return readdirSync(join(home, "running"))
    .filter((name) => name.endsWith(".json"))
    .map((name) => Number(name.slice(0, -".json".length)));
}

function endHosts(home: string): void {
  for (const pid of hostsOf(home)) process.kill(pid, "SIGKILL");
}

const allowFolder = () => ({
  outcome: { outcome: "selected" as const, optionId: "allow-folder" },
});

test("two bridges that find no host start one between them, and it outlives both", async () => {
  const home = join(makeFolder(), "home");
  const project = makeProject();
  const settings = { HOLDFAST_HOME: home, HOLDFAST_PORT: "0" };
  onTestFinished(() => endHosts(home));
  const editors = await Promise.all([openEditor({ settings }), openEditor({ settings })]);
  await Promise.all(editors.map((editor) => editor.agent.request(methods.agent.session.list, {})));
  const hosts = hostsOf(home);
  expect(hosts).toHaveLength(1);
  for (const editor of editors) await editor.kill();
  expect(() => process.kill(hosts[0]!, 0)).not.toThrow();
  const third = await openEditor({ settings, onPermission: allowFolder });
  const { sessionId } = await third.newSession(project);
  await third.prompt(sessionId, "Hello {words:3}");
  expect(hostsOf(home)).toEqual(hosts);

  await third.kill();
});

test("[P5] a host that a bridge has started and that died is started again for an open prompt", async () => {
  const home = join(makeFolder(), "home");
  const settings = { HOLDFAST_HOME: home, HOLDFAST_PORT: "0" };
  onTestFinished(() => endHosts(home));
  const editor = await openEditor({ settings, onPermission: allowFolder });
  const { sessionId } = await editor.newSession(makeProject());
  const prompted = editor.prompt(sessionId, "Again {rate:20} {words:40}");
  await editor.until(() => (countWords(editor.text()) > 6 ? true : undefined));
  const [first = 0] = hostsOf(home);
  process.kill(first, "SIGKILL");
  expect(await prompted).toEqual({ stopReason: "end_turn" });
  expect(hostsOf(home)).toHaveLength(1);
  expect(hostsOf(home)).not.toEqual([first]);
});

test("a host that somebody has stopped stays stopped until something is wanted of it", async () => {
  const home = join(makeFolder(), "home");
  const settings = { HOLDFAST_HOME: home, HOLDFAST_PORT: "0" };
  onTestFinished(() => endHosts(home));
  const editor = await openEditor({ settings, onPermission: allowFolder });
  const { sessionId } = await editor.newSession(makeProject());
  await editor.prompt(sessionId, "Hello {words:2}");
  const [first = 0] = hostsOf(home);
  process.kill(first, "SIGTERM");
  await vi.waitUntil(() => hostsOf(home).length === 0, 20_000);
  // Long enough for the bridge to try again several times. A start begins with a new log.
  const startedAt = statSync(join(home, "running", "host.log")).ctimeMs;
  await sleep(2_500);
  expect(hostsOf(home)).toEqual([]);
  expect(statSync(join(home, "running", "host.log")).ctimeMs).toBe(startedAt);
  expect(await editor.prompt(sessionId, "And again {words:3}")).toEqual({ stopReason: "end_turn" });
  expect(hostsOf(home)).toHaveLength(1);
});

test("a bridge whose host cannot be started says why in the protocol, and goes on", async () => {
  const home = join(makeFolder(), "home");
  const settings = { HOLDFAST_HOME: home, HOLDFAST_PORT: "0", HOLDFAST_STORE: "/dev/null/none.db" };
  const editor = await openEditor({ settings });
  for (let time = 0; time < 2; time += 1)
    await expect(editor.agent.request(methods.agent.session.list, {})).rejects.toMatchObject({
      code: -32_603,
      message: expect.stringContaining("could not be started") as string,
    });
});
