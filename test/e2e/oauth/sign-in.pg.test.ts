import { afterAll, describe, expect, test } from "vitest";
import { createPageRig } from "../page/page-rig.ts";
import { followUntil, hasEnded, makeFolder, valueOf } from "../served-host.ts";
import { shareStore, storeKinds } from "../shared-store.ts";
import { serveBot, startFakeBotApi, untilShown } from "../telegram-rig.ts";
import { signInInBrowser, startAuthorizationServer } from "./authorization-server.ts";

const server = await startAuthorizationServer();
afterAll(() => server.close());

describe.each(storeKinds)("on %s", (kind) => {
  const rig = createPageRig(async (onCleanup) => ({
    HOLDFAST_EGRESS_ALLOW: server.host,
    ...(await shareStore(kind, onCleanup)),
  }));

  test("a server is added and signed in to on the page with a real authorisation server, its tool runs, and signing out ends that", async () => {
    const { tab, consoleErrors } = await rig.openTab({ at: "?settings=mcp" });
    const form = tab.getByRole("form", { name: "Add a server" });
    await form.getByLabel("Name", { exact: true }).fill("guarded");
    await form.getByLabel("Address").fill(server.resource);
    await form.getByRole("button", { name: "Add" }).click();
    await tab.getByText("This server needs you to sign in").waitFor();
    await tab.getByRole("button", { name: "Sign in to guarded" }).click();
    const opened = tab.context().waitForEvent("page");
    await tab.getByRole("link", { name: "Open the sign-in page of guarded" }).click();
    const there = await opened;
    await there.getByPlaceholder("Enter any login").fill("ada");
    await there.getByPlaceholder("and password").fill("any");
    await there.getByRole("button", { name: "Sign-in" }).click();
    await there.getByRole("button", { name: "Continue" }).click();
    await there.getByRole("heading", { name: "Signed in to guarded" }).waitFor();
    await tab.getByText("Ready, over HTTP").waitFor();
    await tab.getByText("signed in", { exact: true }).waitFor();

    const client = rig.client();
    const { session } = valueOf(await client.createSession({ body: {} }));
    const params = { id: session.id };
    const text = "{tool:guarded__answer {}}";
    valueOf(await client.sendMessage({ params, body: { clientId: "one", text } }));
    await followUntil(client, session.id, ({ run }) => run?.state === "waiting");
    const [approval] = valueOf(await client.listApprovals()).approvals;
    const answer = { params: { id: approval!.approvalId }, body: { decision: "once" as const } };
    valueOf(await client.answerApproval(answer));
    await followUntil(client, session.id, hasEnded);
    const { entries } = valueOf(await client.readSession({ params }));
    const parts = entries.flatMap((entry) => (entry.type === "message" ? entry.parts : []));
    expect(parts).toContainEqual(
      expect.objectContaining({ type: "tool_result", outcome: "ok", output: "Done." }),
    );

    await tab.getByRole("button", { name: "Sign out of guarded" }).click();
    await tab.getByText("This server needs you to sign in").waitFor();
    expect(consoleErrors).toEqual([]);
  });
});

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
