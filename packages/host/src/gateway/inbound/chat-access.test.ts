import { ownerId } from "@holdfast/protocol";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, onTestFinished, test } from "vitest";

import { PairingAccess } from "./chat-access.ts";

const owner = ownerId.parse("owner");
const hourMs = 60 * 60_000;

function openAccess(listed: readonly string[] = []) {
  const store = createReferenceStore();
  onTestFinished(() => store.close());
  const time = { now: 1_000_000 };
  const { register } = store;
  const puts: string[] = [];
  const failing = { prefix: "nowhere" };
  const full = { status: "failed", code: "store_full", message: "The disk is full." } as const;
  const watched: typeof register = {
    ...register,
    put: async (change) => {
      puts.push(change.key);
      return change.key.startsWith(failing.prefix) ? full : register.put(change);
    },
  };
  const now = async () => time.now;
  const access = new PairingAccess({ register: watched, owner, bot: "telegram:1", listed, now });
  const request = (id: string) => access.requestPairing({ id, name: `Person ${id}` });
  const rows = async () => (await register.list(owner, "", 10_000)).map(({ key }) => key);
  return { access, request, time, puts, rows, failing };
}

async function codeOf(pairing: Promise<unknown>): Promise<string> {
  const outcome = await pairing;
  if (typeof outcome !== "object" || outcome === null || !("code" in outcome))
    throw new Error("No code.");
  return String(outcome.code);
}

test("an unknown person gets one code an hour, and their further messages write nothing", async () => {
  const { request, time, puts } = openAccess();
  const first = await codeOf(request("55"));
  for (let index = 0; index < 50; index += 1) expect(await request("55")).toBe("silent");
  expect(puts).toHaveLength(1);
  time.now += hourMs;
  expect(await codeOf(request("55"))).not.toBe(first);
});

test("thousands of unknown people leave one row, and a fresh request is never evicted", async () => {
  const { access, request, time, puts, rows } = openAccess();
  const code = await codeOf(request("55"));
  for (let index = 1_000; index < 4_000; index += 1) await request(String(index));
  expect(await rows()).toEqual(["pairing/telegram:1"]);
  expect(puts.length).toBeLessThan(100);
  expect(await access.decidePairing(code, "allowed")).toMatchObject({
    person: "55",
    state: "allowed",
  });
  expect(await access.isAllowed({ id: "55" })).toBe(true);
  expect(await request("55")).toBe("allowed");
  // Expired codes make room by themselves.
  time.now += hourMs;
  expect(await access.requests()).toEqual([]);
  await codeOf(request("9999"));
  expect(await access.requests()).toMatchObject([{ person: "9999" }]);
});

test("[safety] when requests are full, the oldest is evicted once it had time to show its code", async () => {
  const { access, request, time } = openAccess();
  for (let index = 1; index <= 40; index += 1) await request(String(index));
  expect(await request("55")).toBe("silent");
  time.now += 5 * 60_000;
  const code = await codeOf(request("55"));
  const asking = (await access.requests()).map(({ person }) => person);
  expect([asking.length, asking.includes("1"), asking.includes("2")]).toEqual([40, false, true]);
  expect(await access.decidePairing(code, "allowed")).toMatchObject({ person: "55" });
});

test("a denied person gets no reply until the owner allows them again", async () => {
  const { access, request } = openAccess(["7"]);
  await access.decidePairing(await codeOf(request("55")), "denied");
  expect(await request("55")).toBe("silent");
  expect(await access.pairedPeople()).toMatchObject([
    { person: "55", name: "Person 55", state: "denied" },
  ]);
  await access.changePerson("55", "allowed");
  expect(await request("55")).toBe("allowed");
  expect(await access.changePerson("never met", "allowed")).toBeNull();
  expect(await request("7")).toBe("allowed");
});

test("concurrent pairing requests are all stored", async () => {
  const { access, request } = openAccess();
  await Promise.all(["1", "2", "3", "4"].map(request));
  expect((await access.requests()).map(({ person }) => person).toSorted()).toEqual([
    "1",
    "2",
    "3",
    "4",
  ]);
});

test("a code stays valid until the decision on it is stored", async () => {
  const { access, request, failing } = openAccess();
  const code = await codeOf(request("55"));
  failing.prefix = "person/";
  expect(await access.decidePairing(code, "allowed")).toBeNull();
  failing.prefix = "nowhere";
  expect(await access.decidePairing(code, "allowed")).toMatchObject({
    person: "55",
    state: "allowed",
  });
});
