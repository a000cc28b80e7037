import type { ScheduleId } from "@holdfast/protocol";
import { describe, expect, test } from "vitest";
import { connectMcp, overHttp } from "./mcp-client.ts";
import { followUntil, hasEnded, makeFolder, serveWithClient, valueOf } from "./served-host.ts";
import { createSession, shareStore, storeKinds, turn } from "./shared-store.ts";

const readers = { tools: ["*"], sessions: "own", memory: "none", approvals: false } as const;

describe.each(storeKinds)("on %s", (kind) => {
  test("[safety] a schedule that an MCP client made runs tainted, with the rights that the client had, after a restart and a widening", async () => {
    const settings = { HOLDFAST_HOME: makeFolder(), ...(await shareStore(kind)) };
    const first = await serveWithClient(settings);
    await turn(first.client, await createSession(first.client), "The number of the bank is 4471");
    // Whoever may search can find it.
    await expect
      .poll(async () => valueOf(await first.client.search({ query: { q: "4471" } })).hits.length)
      .toBeGreaterThan(0);
    const target = await createSession(first.client);
    const profile = { params: { name: "readers" }, body: { ...readers, tools: ["*"] } };
    valueOf(await first.client.putRightsProfile(profile));
    const give = { subject: "lane:mcp:client" as never, profile: "readers" };
    valueOf(await first.client.assignRights({ body: give }));
    const mcp = await connectMcp(overHttp(first.address, first.token));
    const made = await mcp.callTool({
      name: "schedule_create",
      arguments: {
        title: "Later",
        prompt: '{tool:search_sessions {"query":"bank number"}}',
        times: { days: ["mon"], at: ["08:00"] },
        time_zone: "Europe/Berlin",
        session_id: target,
        request_id: "one",
      },
    });
    const { schedule } = made.structuredContent as { schedule: { schedule_id: ScheduleId } };
    valueOf(await first.client.assignRights({ body: { ...give, profile: null } }));
    await first.host.kill();

    const { client } = await serveWithClient(settings);
    const [listed] = valueOf(await client.listSchedules()).schedules;
    expect(listed?.maker).toEqual({ lane: "mcp:client", profile: "readers" });
    valueOf(await client.runSchedule({ params: { id: schedule.schedule_id } }));
    await followUntil(client, target, hasEnded);
    const { entries } = valueOf(await client.readSession({ params: { id: target } }));
    const log = JSON.stringify(entries);
    expect(log).toContain("search_sessions");
    expect(log).not.toContain("The number of the bank");
    expect(log).toContain('"profile":"readers"');
    expect(log).toContain('"taint":[{"kind":"mcp","name":"client"}]');
  });
});
