import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, expect, test } from "vitest";
import { tryEscapes } from "../../packages/host/test/support/escapes.ts";
import { requirePage } from "./page/require-page.ts";
import {
  followUntil,
  hasEnded,
  makeFolder,
  readLog,
  serveWithClient,
  settingsFor,
  valueOf,
} from "./served-host.ts";

beforeEach(requirePage);

const limits = {
  HOLDFAST_SANDBOX_PROCESSES: "400",
  HOLDFAST_SANDBOX_MEMORY: "700",
  HOLDFAST_SANDBOX_FILE_SIZE: "64",
};

test("[safety] with a sandbox required, none of twenty ways leads out of a host's terminal", async () => {
  const personHome = makeFolder();
  mkdirSync(join(personHome, ".ssh"));
  writeFileSync(join(personHome, ".ssh", "id_ed25519"), "PRIVATE KEY");
  const { client, home } = await serveWithClient({
    HOME: personHome,
    HOLDFAST_SANDBOX: "required",
    HOLDFAST_TOOL_RULES: "allow terminal",
    ...limits,
  });
  const { session } = valueOf(await client.createSession({ body: {} }));
  const params = { id: session.id };
  let sent = 0;
  const results = await tryEscapes({
    home,
    personHome,
    workspace: join(home, "workspaces", session.id),
    path: process.env["PATH"] ?? "",
    beyond: { processes: 700, memoryMegabytes: 1_024, fileMegabytes: 128 },
    async run(argv) {
      sent += 1;
      const clientId = `escape-${sent}`;
      const text = `{rate:1000} {tool:terminal ${JSON.stringify({ command: argv })}}`;
      const before = valueOf(await client.sendMessage({ params, body: { clientId, text } })).seq;
      const { seq: head } = await followUntil(client, session.id, hasEnded);
      const log = await readLog(client, session.id, head);
      const ended = log.filter(({ type, seq }) => type === "tool.ended" && seq > before);
      const outputs = ended.map(({ data }) => data["output"]);
      return outputs.filter((output) => typeof output === "string").join("\n");
    },
  });
  expect(results.filter(({ outcome }) => outcome !== "held")).toEqual([]);
}, 180_000);

test("[safety] where user namespaces are refused, doctor names the setting that refuses them", () => {
  // The setting of a namespace below, which leaves that of the machine alone.
  const refusing = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"';
  const host = fileURLToPath(new URL("../../packages/host/bin/holdfast.mjs", import.meta.url));
  const { status, stdout } = spawnSync(
    "unshare",
    ["--user", "--map-root-user", "sh", "-c", refusing, "sh", process.execPath, host, "doctor"],
    {
      encoding: "utf8",
      env: {
        ...process.env,
        ...settingsFor({
          HOLDFAST_HOME: join(makeFolder(), "home"),
          HOLDFAST_SANDBOX: "required",
        }),
      },
    },
  );
  expect(stdout).toMatch(
    /no sandbox works here: .*; no command will run\n.*user\.max_user_namespaces/,
  );
  expect(status).not.toBe(0);
}, 60_000);
