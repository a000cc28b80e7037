import { chatFrames } from "@holdfast/testing/host/providers/provider-frames";
import {
  openProviderServer,
  type ProviderServer,
} from "@holdfast/testing/host/providers/provider-server";
import type { Locator } from "playwright-core";
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
      const lines = request.includes("one of many lines")
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

/** Scrolls until the page takes the call as seen: it follows new content until then. */
async function lookAt(card: Locator): Promise<void> {
  await expect
    .poll(async () => {
      await card.locator(".approval-shown").scrollIntoViewIfNeeded();
      return card.getByRole("button", { name: "Allow once" }).isEnabled();
    })
    .toBe(true);
}

test("calls are allowed together once each of them has been in view", async () => {
  const { tab, consoleErrors } = await rig.openTab();
  await send(tab, "Run both");
  const allowAll = tab.getByRole("button", { name: "Allow all 2 once" });
  const calls = tab.locator(".approval-shown");
  await expect.poll(() => calls.count()).toBe(2);
  for (const card of await tab.locator(".approval").all()) await lookAt(card);
  await expect.poll(() => allowAll.isEnabled()).toBe(true);
  await allowAll.click();
  await answers(tab).getByText("2 commands have run.").waitFor();
  await allowAll.waitFor({ state: "detached" });
  expect(consoleErrors).toEqual([]);
});

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
