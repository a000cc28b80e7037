import { ids } from "@holdfast/protocol";
import { aFile } from "@holdfast/testing/fixtures/factories";
import { openTestSession, type TestSession } from "@holdfast/testing/fixtures/open-session";
import { type StoreHarness } from "@holdfast/testing/conformance/harness";
import { referenceHarness } from "@holdfast/testing/stores/harnesses";
import { afterEach, beforeEach, expect, test } from "vitest";

import { createLog } from "../log/log.ts";
import { admitMessage, type NewInput } from "./admit.ts";

let harness: StoreHarness;
let chat: TestSession;
beforeEach(async () => {
  harness = await referenceHarness.open();
  chat = await openTestSession(harness.store);
});
afterEach(() => harness.close());

function admit(input: Pick<NewInput, "text" | "attachments" | "mode">) {
  const { owner, session, store } = chat;
  return admitMessage(createLog(store), ids, { owner, session, clientId: "one", ...input });
}

async function aBlob(text: string) {
  const put = await chat.store.putBlob(chat.owner, new TextEncoder().encode(text), "text/plain");
  if (put.status !== "stored") throw new Error(put.message);
  return put.id;
}

test("[P1] the same message again gets the first answer; any other under its client id is refused", async () => {
  const [file, other] = [aFile(await aBlob("a file")), aFile(await aBlob("another"))];
  const first = await admit({ text: "Read this", attachments: [file] });
  expect(first).toMatchObject({ status: "accepted", repeated: false });
  expect(await admit({ text: "Read this", attachments: [file] })).toEqual({
    ...first,
    repeated: true,
  });
  for (const different of [
    { text: "Read that", attachments: [file] },
    { text: "Read this", attachments: [other] },
    { text: "Read this", attachments: [] },
    { text: "Read this", attachments: [file], mode: "steer" },
  ] as const)
    expect(await admit(different)).toMatchObject({
      status: "refused",
      code: "idempotency_conflict",
    });
});
