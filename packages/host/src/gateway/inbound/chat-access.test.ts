import { ownerId } from "@holdfast/protocol";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, onTestFinished, test } from "vitest";

import { PairingAccess } from "./chat-access.ts";

const owner = ownerId.parse("owner");
const hourMs = 60 * 60_000;

function openPeople(listed: readonly string[] = []) {
  const store = createReferenceStore();
  onTestFinished(() => store.close());
  const time = { now: 1_000_000 };
  const { register } = store;
  const puts: string[] = [];
  const trouble = { at: "nowhere" };
  const full = { status: "failed", code: "store_full", message: "The disk is full." } as const;
  const watched: typeof register = {
    ...register,
    put: async (change) => {
      puts.push(change.key);
      return change.key.startsWith(trouble.at) ? full : register.put(change);
    },
  };
  const now = async () => time.now;
  const people = new PairingAccess({ register: watched, owner, bot: "telegram:1", listed, now });
  const meet = (id: string) => people.requestPairing({ id, name: `Person ${id}` });
  const rows = async () => (await register.list(owner, "", 10_000)).map(({ key }) => key);
  return { people, meet, time, puts, rows, trouble };
}

async function codeOf(standing: Promise<unknown>): Promise<string> {
  const met = await standing;
  if (typeof met !== "object" || met === null || !("code" in met)) throw new Error("No code.");
  return String(met.code);
}

test("a stranger gets one code in an hour, and what they say after it costs no write", async () => {
  const { meet, time, puts } = openPeople();
  const first = await codeOf(meet("55"));
  for (let each = 0; each < 50; each += 1) expect(await meet("55")).toBe("silent");
  expect(puts).toHaveLength(1);
  time.now += hourMs;
  expect(await codeOf(meet("55"))).not.toBe(first);
});

test("however many strangers come, they leave one row behind, and nobody who has just asked is pushed out", async () => {
  const { people, meet, time, puts, rows } = openPeople();
  const code = await codeOf(meet("55"));
  for (let each = 1_000; each < 4_000; each += 1) await meet(String(each));
  expect(await rows()).toEqual(["pairing/telegram:1"]);
  expect(puts.length).toBeLessThan(100);
  expect(await people.decidePairing(code, "allowed")).toMatchObject({
    person: "55",
    state: "allowed",
  });
  expect(await people.isAllowed({ id: "55" })).toBe(true);
  expect(await meet("55")).toBe("allowed");
  // Codes that are over make room by themselves.
  time.now += hourMs;
  expect(await people.requests()).toEqual([]);
  await codeOf(meet("9999"));
  expect(await people.requests()).toMatchObject([{ person: "9999" }]);
});

test("[safety] strangers keep nobody out for longer than a code needs to be shown: then the oldest makes room", async () => {
  const { people, meet, time } = openPeople();
  for (let each = 1; each <= 40; each += 1) await meet(String(each));
  expect(await meet("55")).toBe("silent");
  time.now += 5 * 60_000;
  const code = await codeOf(meet("55"));
  const asking = (await people.requests()).map(({ person }) => person);
  expect([asking.length, asking.includes("1"), asking.includes("2")]).toEqual([40, false, true]);
  expect(await people.decidePairing(code, "allowed")).toMatchObject({ person: "55" });
});

test("who was sent away hears nothing, until the owner lets them come back", async () => {
  const { people, meet } = openPeople(["7"]);
  await people.decidePairing(await codeOf(meet("55")), "denied");
  expect(await meet("55")).toBe("silent");
  expect(await people.pairedPeople()).toMatchObject([
    { person: "55", name: "Person 55", state: "denied" },
  ]);
  await people.changePerson("55", "allowed");
  expect(await meet("55")).toBe("allowed");
  expect(await people.changePerson("never met", "allowed")).toBeNull();
  expect(await meet("7")).toBe("allowed");
});

test("of two who ask at the same moment neither is lost", async () => {
  const { people, meet } = openPeople();
  await Promise.all(["1", "2", "3", "4"].map(meet));
  expect((await people.requests()).map(({ person }) => person).toSorted()).toEqual([
    "1",
    "2",
    "3",
    "4",
  ]);
});

test("a code stays good until what was decided of it is kept", async () => {
  const { people, meet, trouble } = openPeople();
  const code = await codeOf(meet("55"));
  trouble.at = "person/";
  expect(await people.decidePairing(code, "allowed")).toBeNull();
  trouble.at = "nowhere";
  expect(await people.decidePairing(code, "allowed")).toMatchObject({
    person: "55",
    state: "allowed",
  });
});
