import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { PersonsAnswer, ToolQuestion } from "@holdfast/engine";
import { laneKey } from "@holdfast/protocol";
import { until } from "@holdfast/testing/rigs/run-rig";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { findFreePort } from "@holdfast/testing/process/free-port";
import { openTestConfinement } from "../../../test/support/open-confinement.ts";
import { type McpRig, openMcpRig } from "../../../test/support/mcp/mcp-rig.ts";

const main = join(
  import.meta.dirname,
  "../../../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js",
);

/** Over HTTP the server is a separate process. */
async function serveEverything() {
  const port = await findFreePort();
  const child = spawn(process.execPath, [main, "streamableHttp"], {
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  await new Promise<void>((resolve, reject) => {
    child.stderr.on("data", (bytes: Buffer) => bytes.includes("listening") && resolve());
    child.once("exit", (code) => reject(new Error(`It ended with ${code}.`)));
  });
  return { child, url: `http://127.0.0.1:${port}/mcp` };
}

const ways = {
  async stdio() {
    return {
      server: { command: process.execPath, args: [main, "stdio"] },
      end: async () => undefined,
    };
  },
  "confined stdio": () => ways.stdio(),
  async http() {
    const { child, url } = await serveEverything();
    return { server: { url }, end: async () => void child.kill() };
  },
};

describe.each(["stdio", "confined stdio", "http"] as const)(
  "the official example server over %s",
  (way) => {
    let rig: McpRig;
    let end: () => Promise<void>;
    const home = mkdtempSync(join(tmpdir(), "holdfast-everything-"));
    beforeAll(async () => {
      const served = await ways[way]();
      end = served.end;
      const confinement = openTestConfinement({ home, mode: way === "stdio" ? "off" : "required" });
      rig = openMcpRig({ everything: served.server }, process.env, confinement);
      await rig.mcp.tools();
    });
    afterAll(async () => {
      await rig.stop();
      await end();
      rmSync(home, { recursive: true, force: true });
    });

    test("its tools have stable names and order, attributed descriptions, and require approval", async () => {
      const { tools, missing } = await rig.mcp.tools();
      expect(missing).toEqual([]);
      expect([...tools.keys()]).toEqual([...tools.keys()].toSorted());
      expect(tools.get("everything__echo")).toMatchObject({
        name: "everything__echo",
        description:
          "[A tool of the MCP server everything, in that server's words.] Echoes back the input string",
        input: { type: "object", properties: { message: { type: "string" } } },
        replay: "never",
      });
      expect([...tools.values()].map((tool) => tool.approval?.({}))).not.toContain("none");
    });

    test("a text result arrives verbatim, and an error result is a failure", async () => {
      expect(await rig.call("everything__echo", { message: "Ahoy" })).toEqual({
        outcome: "ok",
        output: "Echo: Ahoy",
      });
      expect(await rig.call("everything__echo", { message: 7 })).toMatchObject({
        outcome: "failed",
      });
      expect(await rig.call("everything__echo", "no object")).toMatchObject({ outcome: "failed" });
    });

    test("an image is stored by content and named in place", async () => {
      const { output, details } = await rig.call("everything__get-tiny-image");
      const [file] = details?.files ?? [];
      expect(file).toMatchObject({ mediaType: "image/png" });
      expect(output).toContain(`[image, image/png, ${file?.size} bytes, ${file?.blobId}]`);
      const kept = file && (await rig.store.reads.blob(rig.owner, file.blobId));
      expect(kept?.bytes.byteLength).toBe(file?.size);
    });

    test("structured content, resources and links become text", async () => {
      const weather = await rig.call("everything__get-structured-content", {
        location: "New York",
      });
      expect(JSON.parse(weather.output)).toMatchObject({ temperature: 33 });
      const links = await rig.call("everything__get-resource-links", { count: 2 });
      expect(links.output).toContain("[resource: Text Resource 2, demo://resource/dynamic/text/2]");
      const resource = { resourceType: "Text", resourceId: 1 };
      const text = await rig.call("everything__get-resource-reference", resource);
      expect(text.output).toContain("[resource: demo://resource/dynamic/text/1]\nResource 1: ");
    });

    test("progress is shown while a call runs", async () => {
      let shown = "";
      const input = { duration: 0.2, steps: 2 };
      const written = (text: string) => void (shown += text);
      const done = await rig.call("everything__trigger-long-running-operation", input, { written });
      expect(done.outcome).toBe("ok");
      expect(shown).toBe("1 of 2\n2 of 2\n");
    });

    test("a form is shown with its server, and its fields get what a person answers", async () => {
      const asked: ToolQuestion[] = [];
      const answers = [
        "Check: perhaps",
        "String: Ada\nBoolean: yes\nInteger: 7\ntitled single select enum: Superman",
      ];
      const ask = async (question: ToolQuestion): Promise<PersonsAnswer> => {
        asked.push(question);
        return { status: "answered", answer: answers.shift() ?? "" };
      };
      const done = await rig.call("everything__trigger-elicitation-request", {}, { ask });
      expect(asked.map(({ input }) => input["server"])).toEqual(["everything", "everything"]);
      expect(asked[0]?.input["question"]).toContain("The MCP server **everything** asks");
      expect(asked[0]?.input["question"]).toContain("- **Integer** (a whole number, from 1 to 100");
      expect(asked[1]?.input["question"]).toContain("That answer did not fit");
      expect(done.outcome).toBe("ok");
      for (const sent of ['"check": true', '"integer": 7', '"titledSingleSelectEnum": "hero-1"'])
        expect(done.output).toContain(sent);
      // What nobody mentioned has its usual value.
      expect(done.output).toContain('"untitledSingleSelectEnum": "Monica"');
    });

    test("a declined form, and one that nobody may answer, are declined, and the model is told why", async () => {
      const name = "everything__trigger-elicitation-request";
      const no = await rig.call(name, {}, { ask: async () => ({ status: "declined" }) });
      expect(no.output).toContain("a person declined to answer");
      const { lane } = { lane: laneKey.parse("webhook:deploys:1") };
      const ask = () => Promise.reject(new Error("Nobody may be asked here."));
      const unattended = await rig.call(name, {}, { ask, lane });
      expect(unattended.output).toContain("nobody was asked");
      expect((await rig.call(name)).output).toContain("nobody was asked");
    });

    test("a page to open is named by its host, and opened only by the person", async () => {
      const asked: ToolQuestion[] = [];
      const ask = async (question: ToolQuestion): Promise<PersonsAnswer> => {
        asked.push(question);
        return { status: "answered", answer: "I have opened it" };
      };
      const input = { url: "https://pay.example.net/card?for=you" };
      const done = await rig.call("everything__trigger-url-elicitation", input, { ask });
      expect(asked[0]?.input["link"]).toBe("https://pay.example.net/card?for=you");
      expect(asked[0]?.input["question"]).toContain("The page is at **pay.example.net**");
      expect(done.output).toMatch(/accept/);
      // The other way of asking: the call is refused until the page was opened, and not made again by itself.
      const refused = await rig.call(
        "everything__trigger-url-elicitation",
        { ...input, elicitationId: "one", errorPath: true },
        { ask },
      );
      expect(refused).toMatchObject({ outcome: "failed" });
      expect(refused.output).toContain("everything did nothing: it needs the person to finish");
      expect(asked[1]?.input["link"]).toBe("https://modelcontextprotocol.io/");
    });

    test("[P7] a stopped call ends at once with an unknown outcome", async () => {
      const stop = new AbortController();
      const input = { duration: 60, steps: 600 };
      const how = { signal: stop.signal, written: () => stop.abort() };
      const done = await rig.call("everything__trigger-long-running-operation", input, how);
      expect(done.outcome).toBe("unknown");
      expect(await rig.call("everything__get-sum", { a: 1, b: 2 })).toMatchObject({
        outcome: "ok",
      });
    });

    test("a restart reconnects", async () => {
      expect(rig.mcp.restart("nobody")).toBeNull();
      rig.mcp.restart("everything");
      await until(() => rig.mcp.states()[0]?.state === "ready");
      expect(await rig.call("everything__get-sum", { a: 1, b: 2 })).toMatchObject({
        outcome: "ok",
      });
    });
  },
);

test("[safety] a program gets its own environment and only harmless variables of the host's", async () => {
  const rig = openMcpRig(
    {
      everything: {
        command: process.execPath,
        args: [main, "stdio"],
        env: { PLAIN: "${HOLDFAST_TOKEN}", KEY: { env: "ITS_KEY", prefix: "key " } },
      },
    },
    { ...process.env, HOLDFAST_TOKEN: "the host's own", ITS_KEY: "a secret of theirs" },
  );
  const { output } = await rig.call("everything__get-env");
  const given: unknown = JSON.parse(output);
  expect(given).toMatchObject({ PLAIN: "${HOLDFAST_TOKEN}", KEY: "key a secret of theirs" });
  expect(given).not.toHaveProperty("HOLDFAST_TOKEN");
  expect(given).not.toHaveProperty("ITS_KEY");
  await rig.stop();
});
