import { laneKey } from "@holdfast/protocol";
import { botToken } from "@holdfast/testing/telegram/fake-bot-api";
import { chatFrames } from "@holdfast/testing/host/providers/provider-frames";
import { describe, expect, test } from "vitest";
import { makeFolder, valueOf } from "./served-host.ts";
import { serveModel, shareStore, storeKinds } from "./shared-store.ts";
import { serveBot, showsText, startFakeBotApi, untilShown } from "./telegram-rig.ts";

const answers = ["Hello.", "North, 5 knots.", "Nothing new.", "North, 5 knots.", "South, 7 knots."];

describe.each(storeKinds)("on %s", (kind) => {
  test("a schedule that reports only changes sends a chat what is new, also after a restart", async () => {
    const platform = await startFakeBotApi();
    const model = await serveModel(({ purpose }, before) =>
      purpose === "conversation"
        ? { frames: chatFrames([{ text: answers[before] ?? "Too many." }]) }
        : undefined,
    );
    const settings = {
      HOLDFAST_HOME: makeFolder(),
      HOLDFAST_MODEL: "openai-compatible/m",
      ...model.settings,
      ...(await shareStore(kind)),
    };
    const first = await serveBot(platform, settings);
    platform.say(7, "Hello");
    await untilShown(platform, showsText("Hello."));
    const lane = laneKey.parse(`telegram:${botToken.split(":")[0]}:p7:0`);
    const body = {
      title: "Wind",
      prompt: "How is the wind?",
      times: { everyMinutes: 60 },
      timeZone: "UTC",
      target: { lane },
      report: "changes",
    } as const;
    const { schedule } = valueOf(await first.client.createSchedule({ body }));
    const params = { id: schedule.id };
    async function report({ client }: Pick<typeof first, "client">, count: number): Promise<void> {
      const { sessionId } = valueOf(await client.runSchedule({ params }));
      const read = async () => valueOf(await client.readSession({ params: { id: sessionId } }));
      const said = async () =>
        (await read()).entries.filter(
          (entry) => entry.type === "message" && entry.role === "assistant",
        ).length;
      await expect.poll(said).toBe(count);
      await expect.poll(async () => (await read()).session.liveRun).toBeNull();
    }
    await report(first, 2);
    await untilShown(platform, showsText("North"));
    await report(first, 3);
    await first.host.kill();

    const second = await serveBot(platform, settings);
    await report(second, 4);
    await report(second, 5);
    await untilShown(platform, showsText("South"));
    expect(platform.shownIn(7).map(({ text }) => text)).toEqual([
      "Hello.",
      "North, 5 knots.",
      "South, 7 knots.",
    ]);
    expect(model.callsFor("conversation")).toHaveLength(answers.length);
  });
});
