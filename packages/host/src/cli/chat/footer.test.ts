import { createClient } from "@holdfast/client";
import { ids } from "@holdfast/protocol";
import { expect, test } from "vitest";

import { FooterData } from "./footer.ts";

test("usage that arrives after that of a later request is not shown", async () => {
  const id = ids.make("session");
  const answers = [1, 2].map(() => Promise.withResolvers<Response>());
  const waiting = answers.values();
  const client = createClient({
    baseUrl: "http://host",
    fetch() {
      const { value: answer } = waiting.next();
      if (answer === undefined) throw new Error("There are two requests.");
      return answer.promise;
    },
  });
  const data = new FooterData(client, "a model", () => {});
  const usage = (input: number) =>
    Response.json({
      usage: { calls: 1, input, output: 1, cacheRead: 0, cacheWrite: 0, costMicros: 0 },
    });
  const loads = [data.loadUsage(id), data.loadUsage(id)];
  answers[1]!.resolve(usage(20));
  await loads[1];
  answers[0]!.resolve(usage(10));
  await loads[0];
  expect(data.usageOf(id)).toMatchObject({ input: 20 });
});
