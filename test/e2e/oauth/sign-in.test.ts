import { afterAll, beforeEach, expect, test } from "vitest";
import { createPageRig } from "../page/page-rig.ts";
import { requirePage } from "../page/require-page.ts";
import { followUntil, hasEnded, valueOf } from "../served-host.ts";
import { startAuthorizationServer } from "./authorization-server.ts";

const server = await startAuthorizationServer();
afterAll(() => server.close());
const settings = { HOLDFAST_EGRESS_ALLOW: server.host };
const rig = createPageRig(settings);

beforeEach(requirePage);

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
