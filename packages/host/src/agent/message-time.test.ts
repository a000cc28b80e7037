import { ids, ownerId } from "@holdfast/protocol";
import { expect, test } from "vitest";

import { messageTime } from "./message-time.ts";

const query = {
  owner: ownerId.parse("ada"),
  session: ids.make("session"),
  text: "Hello",
  attachments: [],
};

test.each([
  ["Europe/Berlin", "Wednesday, 18 November 2026, 00:05 (Europe/Berlin)"],
  ["America/New_York", "Tuesday, 17 November 2026, 18:05 (America/New_York)"],
])("a message comes with the weekday, date and time in %s", async (timeZone, text) => {
  const recall = messageTime({
    now: async () => Date.parse("2026-11-17T23:05:59Z"),
    timeZone: () => timeZone,
  });
  expect(await recall(query)).toEqual([{ type: "attached", source: "time", text }]);
});
