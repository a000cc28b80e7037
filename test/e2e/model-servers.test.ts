import { openProviderServer, refuses } from "@holdfast/testing/host/providers/provider-server";
import { startHost } from "@holdfast/testing/process/start-process";
import { expect, onTestFinished, test } from "vitest";

import { serveWithClient, settingsFor, valueOf } from "./served-host.ts";

test("a serving host learns about its server's models, and warns that a spend limit cannot count one without a price", async () => {
  const server = await openProviderServer(({ path }) =>
    path === "/v1/models"
      ? refuses(200, { data: [{ id: "heron", max_model_len: 65_536 }] })
      : refuses(404, {}),
  );
  onTestFinished(() => server[Symbol.asyncDispose]());
  const settings = {
    HOLDFAST_MODEL: "openai-compatible/heron",
    HOLDFAST_OPENAI_BASE_URL: `${server.url}/v1`,
    HOLDFAST_SPEND_PER_DAY: "5",
  };
  const { client, home, host } = await serveWithClient(settings);
  await host.saying(/No price is known for openai-compatible\/heron/);
  expect(server.requests.map(({ path }) => path)).toEqual(["/v1/models"]);

  const { models } = valueOf(await client.listModels());
  const heron = models.find(({ name }) => name === "openai-compatible/heron");
  expect(heron).toMatchObject({ window: 65_536, price: null, tools: true });
  expect(heron?.warning).toContain("No price is known");

  const env = settingsFor({ HOLDFAST_HOME: home, ...settings });
  const doctor = startHost(["doctor"], { env });
  await doctor.saying(/Spend limit.*No price is known for openai-compatible\/heron/);
  await doctor.exited;
});
