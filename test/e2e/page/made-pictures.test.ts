import { openProviderServer } from "@holdfast/testing/host/providers/provider-server";
import { chatFrames } from "@holdfast/testing/host/providers/provider-frames";
import { expect, onTestFinished, test } from "vitest";
import { answers, createPageRig, send } from "./page-rig.ts";

const rig = createPageRig();

const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const url = `data:image/png;base64,${pixel}`;
const pictureFrame = `data: ${JSON.stringify({
  id: "chat_1",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [
    {
      index: 0,
      delta: { images: [{ type: "image_url", image_url: { url } }] },
      finish_reason: null,
    },
  ],
})}\n\n`;

/** Its first answer stops after the picture, and never ends. */
async function openPainter() {
  let drawn = 0;
  const server = await openProviderServer(({ body, method }) => {
    const asked = JSON.stringify(body);
    if (method !== "POST" || asked.includes("Name the conversation"))
      return { frames: chatFrames([{ text: "Herons" }]) };
    if (asked.includes("Redder")) return { frames: chatFrames([{ text: "It is redder." }]) };
    const [begin = "", ...rest] = chatFrames([{ text: "Here it is." }]);
    drawn += 1;
    return drawn === 1
      ? { frames: [begin, pictureFrame, ...rest.slice(0, 2)], ending: "hang" }
      : { frames: [begin, pictureFrame, ...rest] };
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

test("[P1] a picture that a model made survives kill -9 before and after its answer's end, opens large, and goes back to the model", async () => {
  const painter = await openPainter();
  const settings = {
    HOLDFAST_MODEL: "openai-compatible/painter",
    HOLDFAST_OPENAI_BASE_URL: `${painter.url}/v1`,
    HOLDFAST_OPENAI_API_KEY: "key",
    HOLDFAST_MODELS: JSON.stringify({ "openai-compatible/*": { images: true } }),
  };
  await rig.kill();
  await rig.restart(settings);
  const { tab, consoleErrors } = await rig.openTab();
  await send(tab, "Draw a heron");
  await tab.getByText("Here it is.").waitFor();
  await rig.kill();

  await rig.restart(settings);
  const picture = answers(tab).getByRole("img", { name: "picture-1.png" });
  const width = () => picture.evaluate((image) => (image as HTMLImageElement).naturalWidth);
  await expect.poll(() => picture.count()).toBe(1);
  await expect.poll(width).toBe(1);
  await rig.kill();
  await rig.restart(settings);
  await tab.reload();
  await expect.poll(() => picture.count()).toBe(1);
  await expect.poll(width).toBe(1);

  await answers(tab)
    .getByRole("button", { name: /picture-1\.png/ })
    .click();
  const viewer = tab.getByRole("dialog");
  await viewer.getByRole("img").waitFor();
  await viewer.getByRole("button", { name: "Close" }).click();

  await send(tab, "Redder");
  await tab.getByText("It is redder.").waitFor();
  const asked = painter.requests.map(({ body }) => JSON.stringify(body));
  expect(asked.findLast((body) => body.includes("Redder"))).toContain(url);
  expect(consoleErrors).toEqual([]);
});
