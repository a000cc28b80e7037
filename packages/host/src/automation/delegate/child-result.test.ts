import { createLog } from "@holdfast/engine";
import { ids, type ToolFile } from "@holdfast/protocol";
import {
  anEvent,
  aRunId,
  aSettledMessage,
  aUserMessage,
} from "@holdfast/testing/fixtures/factories";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, test } from "vitest";
import { overdueResult } from "./child-result.ts";

test("files that a child sent or was given come back to its parent, and those that its other tools read do not", async () => {
  const store = createReferenceStore();
  const child = await openTestSession(store);
  const { owner, session } = child;
  const runId = aRunId();
  const fileOf = async (name: string): Promise<ToolFile> => {
    const mediaType = "image/png";
    const stored = await store.putBlob(owner, new TextEncoder().encode(name), mediaType);
    if (stored.status !== "stored") throw new Error(JSON.stringify(stored));
    return { blobId: stored.id, mediaType, size: name.length, name };
  };
  const resultOf = (name: string, file: ToolFile) =>
    anEvent(
      "message.tool",
      {
        messageId: ids.make("message"),
        parts: [
          {
            type: "tool_result",
            callId: ids.make("call"),
            name,
            outcome: "ok",
            output: "Done.",
            details: { files: [file] },
          },
        ],
      },
      runId,
    );
  await child.commit([
    aUserMessage("Look at the tides."),
    resultOf("browser__screenshot", await fileOf("seen.png")),
    resultOf("send_file", await fileOf("sent.png")),
    resultOf("delegate", await fileOf("given.png")),
    aSettledMessage(runId, "Here."),
  ]);
  const result = await overdueResult(createLog(store), { owner, session, runId }, 5);
  expect(result.details?.files?.map(({ name }) => name)).toEqual(["sent.png", "given.png"]);
  expect(result.images).toHaveLength(2);
  expect(result.output).not.toContain("seen.png");
});
