import { anOwner, toSeq } from "@holdfast/testing/fixtures/factories";
import { ids, noRights, ownerRights, type StoredEvent } from "@holdfast/protocol";
import { expect, test } from "vitest";

import { rightsOfRun } from "./run-rights.ts";

const run = { owner: anOwner(), session: ids.make("session") };

function message(data: StoredEvent["data"]): StoredEvent {
  return { seq: toSeq(1), id: ids.make("event"), type: "message.user", v: 1, at: 1, data };
}

test("[safety] recorded rights that cannot be read allow nothing, whatever the lane may do", async () => {
  const rightsOf = async () => ownerRights;
  for (const rights of ["owner", null, { ...ownerRights, tools: "*" }, {}])
    expect(await rightsOfRun({ rightsOf }, run, { head: [], tail: [message({ rights })] })).toEqual(
      noRights,
    );
  expect(await rightsOfRun({ rightsOf }, run, { head: [], tail: [message({})] })).toBe(ownerRights);
});
