import { chatFrames } from "@holdfast/testing/host/providers/provider-frames";
import {
  openProviderServer,
  type ProviderServer,
} from "@holdfast/testing/host/providers/provider-server";
import { afterAll, beforeAll, expect, test } from "vitest";
import { answers, createPageRig, send } from "./page-rig.ts";

const rig = createPageRig();
let server: ProviderServer;

const terminalCall = (id: string, command: string) => ({
  call: "terminal",
  id,
  input: JSON.stringify({ command }),
});

/** A model that wants to run two commands at once, and then says how many of them have run. */
beforeAll(async () => {
  server = await openProviderServer(({ body }) => {
    const request = JSON.stringify(body);
    if (request.includes("Name the conversation")) return { frames: chatFrames([{ text: "Two" }]) };
    if (!request.includes('"role":"tool"')) {
      const lines = request.includes("many lines")
        ? Array.from({ length: 200 }, (_, n) => `\n# line ${n}`).join("")
        : "";
      return {
        frames: chatFrames([
          terminalCall("one", `printf kelp${lines}`),
          terminalCall("two", "printf dulse"),
        ]),
      };
    }
    const denied = request.split("A person did not allow this").length - 1;
    return { frames: chatFrames([{ text: `${2 - denied} commands have run.` }]) };
  });
  await rig.kill();
  await rig.restart({
    HOLDFAST_OPENAI_BASE_URL: `${server.url}/v1`,
    HOLDFAST_OPENAI_API_KEY: "any",
    HOLDFAST_MODEL: "openai-compatible/two",
  });
});
afterAll(() => server[Symbol.asyncDispose]());

test("[safety] calls cannot be allowed together while one of them was not in view", async () => {
  const { tab } = await rig.openTab();
  await send(tab, "Run both, one of many lines");
  const allowAll = tab.getByRole("button", { name: "Allow all 2 once" });
  await allowAll.waitFor();
  const allow = tab.getByRole("button", { name: "Allow once" });
  await expect.poll(() => allow.last().isEnabled()).toBe(true);
  expect(await allowAll.isDisabled()).toBe(true);
  await tab.getByRole("button", { name: "Deny all" }).click();
  await answers(tab).getByText("0 commands have run.").waitFor();
});
