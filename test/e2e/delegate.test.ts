import { beforeEach, expect, test } from "vitest";
import { requirePage } from "./page/require-page.ts";
import { killWhileAChildWorks, deliveredOnce } from "./delegate-scenario.ts";

beforeEach(requirePage);

test("[P3] [P7] after a kill while a child works for a call, the same child continues and its answer is returned once", async () => {
  expect(await killWhileAChildWorks()).toEqual(deliveredOnce);
});
