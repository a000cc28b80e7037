import { laneKey, noRights, ownerId, ownerRights, rightsSubject } from "@holdfast/protocol";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { ids } from "@holdfast/protocol";
import { describe, expect, test } from "vitest";

import { openRightsResolver } from "./resolve-rights.ts";
import { openRightsStore } from "./rights-store.ts";

const owner = ownerId.parse("owner");

function open() {
  const { register } = createReferenceStore();
  const store = openRightsStore(register);
  const resolver = openRightsResolver(register);
  const of = (lane: string | null, clientId: string | null = null) =>
    resolver.ofMessage({
      owner,
      session: ids.make("session"),
      lane: lane === null ? null : laneKey.parse(lane),
      clientId,
      given: null,
    });
  const give = async (subject: string, profile: string) =>
    expect(await store.assign(owner, rightsSubject.parse(subject), profile)).toBe("kept");
  return { store, resolver, of, give };
}

const readers = {
  name: "readers",
  tools: ["read_file"],
  sessions: "own",
  memory: "read",
  approvals: false,
} as const;

describe("who has which rights", () => {
  test.each([
    [null, "owner"],
    ["web:ses_1", "owner"],
    ["cli:ses_1", "owner"],
    ["telegram:424242:p7:0", "owner"],
    ["telegram:424242:g-7:0", "group"],
    ["matrix:bot:groom:0", "group"],
    ["api:someone:garden", "owner"],
    ["webhook:ci:main", "webhook"],
    ["delegate:ses_1:run_1:call_1", "owner"],
    ["process:prc_1", "owner"],
  ])("[safety] by default %s has %s", async (lane, profile) => {
    expect((await open().of(lane)).profile).toBe(profile);
  });

  test("[safety] the most specific assignment decides, and a missing profile allows nothing", async () => {
    const { store, of, give, resolver } = open();
    await store.put(owner, { ...readers, tools: [...readers.tools] });
    await give("webhooks", "owner");
    expect((await of("webhook:ci:main")).profile).toBe("owner");
    await give("webhook:ci", "readers");
    expect((await of("webhook:ci:main")).profile).toBe("readers");
    expect((await of("webhook:other:main")).profile).toBe("owner");
    await give("lane:webhook:ci:main", "webhook");
    expect((await of("webhook:ci:main")).profile).toBe("webhook");
    expect((await of("webhook:ci:else")).profile).toBe("readers");
    expect(await resolver.ofProfile(owner, "gone")).toEqual(noRights);
  });

  test("[safety] a schedule and what the sender gave narrow the lane's rights, and never widen them", async () => {
    const { store, of, give, resolver } = open();
    await store.put(owner, { ...readers, tools: [...readers.tools] });
    const schedule = ids.make("schedule");
    expect(await of(null, `schedule:${schedule}:2026-01-01T08:00`)).toEqual(ownerRights);
    await give(`schedule:${schedule}`, "readers");
    expect((await of(null, `schedule:${schedule}:now:1`)).profile).toBe("readers");
    const inGroup = await of("telegram:1:g-7:0", `schedule:${schedule}:now:1`);
    expect(inGroup).toMatchObject({
      profile: "group+readers",
      tools: ["read_file"],
      memory: "none",
    });
    const question = { owner, session: ids.make("session"), clientId: null } as const;
    const lane = laneKey.parse("webhook:ci:main");
    const given = await resolver.ofMessage({ ...question, lane, given: ownerRights });
    expect(given.profile).toBe("webhook");
  });
});
