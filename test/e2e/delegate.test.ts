import { beforeEach, expect, test } from "vitest";
import { requirePage } from "./page/require-page.ts";
import { killWhileAChildWorks, deliveredOnce } from "./delegate-scenario.ts";

beforeEach(requirePage);

test("[P3] [P7] killed while a child works for a call: the same child goes on, and its answer is given back once", async () => {
  expect(await killWhileAChildWorks()).toEqual(deliveredOnce);
});
