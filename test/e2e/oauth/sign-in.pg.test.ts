import { afterAll, expect, test } from "vitest";
import { makeFolder, valueOf } from "../served-host.ts";
import { shareStore, storeKinds } from "../shared-store.ts";
import { serveBot, startFakeBotApi, untilShown } from "../telegram-rig.ts";
import { signInInBrowser, startAuthorizationServer } from "./authorization-server.ts";

const server = await startAuthorizationServer();
afterAll(() => server.close());

test.each(storeKinds)(
  "%s: a chat is told which server needs a sign-in, and its link signs in without the page",
  async (kind) => {
    const platform = await startFakeBotApi();
    const mcp = JSON.stringify({ guarded: { url: server.resource } });
    const settings = {
      HOLDFAST_HOME: makeFolder(),
      HOLDFAST_EGRESS_ALLOW: server.host,
      HOLDFAST_MCP: mcp,
      ...(await shareStore(kind)),
    };
    const first = await serveBot(platform, settings);
    const { client } = first;
    const stateOf = async () => valueOf(await client.listMcpServers()).servers[0];
    await expect.poll(async () => (await stateOf())?.signIn).toBe("needed");
    platform.say(7, "Hello {words:5}");
    const linkIn = (): string | undefined =>
      platform
        .shownIn(7)
        .flatMap(({ text }) => /https?:\/\/\S+\/oauth\/mcp\/sign-in\/[\w-]+/.exec(text) ?? [])
        .at(0);
    await untilShown(platform, () => linkIn() !== undefined);
    expect(
      platform
        .shownIn(7)
        .map(({ text }) => text)
        .join(" "),
    ).toContain("guarded needs you to sign in");
    // Looking at it, as a preview does, begins nothing.
    expect(await (await fetch(linkIn() ?? "")).text()).toContain("Continue to the sign-in");
    expect(await signInInBrowser(linkIn() ?? "")).toContain("Signed in to guarded");
    await expect.poll(async () => (await stateOf())?.state).toBe("ready");
    expect(await stateOf()).toMatchObject({ signIn: "done" });
    // The link was for this one sign-in.
    expect((await fetch(linkIn() ?? "")).status).toBe(404);
    await first.host.kill();

    // The next host has the sign-in, and nobody is asked again.
    const second = await serveBot(platform, settings);
    await expect
      .poll(async () => valueOf(await second.client.listMcpServers()).servers[0])
      .toMatchObject({ state: "ready", signIn: "done" });
  },
);
